import torch
from torch import nn


def update(actor, critic, a_opt, c_opt, batch, max_norm=0.5):
    v = critic(batch["obs"]).squeeze(-1)
    adv = batch["ret"] - v
    c_loss = adv.pow(2).mean()
    c_opt.zero_grad()
    c_loss.backward()
    nn.utils.clip_grad_norm_(critic.parameters(), max_norm)
    c_opt.step()

    dist = torch.distributions.Categorical(logits=actor(batch["obs"]))
    a_loss = -(dist.log_prob(batch["act"]) * adv.detach()).mean()
    a_opt.zero_grad()
    a_loss.backward()
    nn.utils.clip_grad_norm_(actor.parameters(), max_norm)
    a_opt.step()


def main(d, n, rollouts):
    torch.manual_seed(0)
    actor = nn.Sequential(nn.Linear(d, 64), nn.Tanh(), nn.Linear(64, n))
    critic = nn.Sequential(nn.Linear(d, 64), nn.Tanh(), nn.Linear(64, 1))
    a_opt, c_opt = torch.optim.Adam(actor.parameters(), 3e-4), torch.optim.Adam(critic.parameters(), 1e-3)
    for batch in rollouts:
        update(actor, critic, a_opt, c_opt, batch)
