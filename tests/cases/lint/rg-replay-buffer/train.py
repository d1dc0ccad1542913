import random
from collections import deque

import torch


class Agent:
    def __init__(self, policy, optimizer):
        self.policy = policy
        self.optimizer = optimizer
        self.memory = deque(maxlen=100000)

    def run(self, env, episodes):
        for _ in range(episodes):
            state, done = env.reset(), False
            while not done:
                value = self.policy(torch.as_tensor(state).float())
                action = int(value.argmax())
                nxt, reward, done = env.step(action)
                self.memory.append((state, value, reward))
                state = nxt
            self.learn()

    def learn(self):
        batch = random.sample(self.memory, 32)
        self.optimizer.zero_grad()
        states = torch.stack([torch.as_tensor(s).float() for s, _, _ in batch])
        rewards = torch.tensor([r for _, _, r in batch])
        loss = (self.policy(states).max(1).values - rewards).pow(2).mean()
        loss.backward()
        self.optimizer.step()
