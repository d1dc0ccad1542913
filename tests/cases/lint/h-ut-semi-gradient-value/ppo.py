import torch


class Critic(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(n, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1))

    def forward(self, obs):
        return self.body(obs).squeeze(-1)


def td_loss(critic, batch, gamma):
    now = critic(batch.obs)
    nxt = critic(batch.next_obs)
    goal = batch.reward + gamma * batch.mask * nxt
    return 0.5 * (goal - now).pow(2).mean()


def train(critic, opt, stream, gamma=0.97):
    critic.train()
    for batch in stream:
        loss = td_loss(critic, batch, gamma)
        opt.zero_grad()
        loss.backward()
        opt.step()
