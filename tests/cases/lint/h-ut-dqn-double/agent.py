import copy
import random
from collections import deque

import torch
import torch.nn.functional as F


class ReplayMemory:
    def __init__(self, cap):
        self.buf = deque(maxlen=cap)

    def push(self, *t):
        self.buf.append(t)

    def sample(self, n):
        s, a, r, s2, d = zip(*random.sample(self.buf, n))
        return torch.stack(s), torch.tensor(a), torch.tensor(r), torch.stack(s2), torch.tensor(d, dtype=torch.float32)


class DoubleDQN:
    def __init__(self, q_net, lr, gamma=0.99):
        self.q = q_net
        self.q_slow = copy.deepcopy(q_net)
        self.opt = torch.optim.Adam(self.q.parameters(), lr=lr)
        self.gamma = gamma

    def learn(self, memory, n):
        s, a, r, s2, done = memory.sample(n)
        chosen = self.q(s).gather(1, a[:, None]).squeeze(1)
        best = self.q(s2).argmax(dim=1, keepdim=True)
        boot = self.q_slow(s2).gather(1, best).squeeze(1)
        y = r + self.gamma * (1 - done) * boot
        loss = F.smooth_l1_loss(chosen, y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()

    def sync(self):
        self.q_slow.load_state_dict(self.q.state_dict())
