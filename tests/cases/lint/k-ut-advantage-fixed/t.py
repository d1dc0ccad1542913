import torch


def a2c(actor, critic, ao, co, rollout):
    for s, a, ret in rollout:
        v = critic(s).squeeze(-1)
        adv = ret - v
        logp = torch.distributions.Categorical(logits=actor(s)).log_prob(a)
        pi_loss = -(logp * adv.detach()).mean()
        v_loss = adv.pow(2).mean()
        ao.zero_grad()
        co.zero_grad()
        (pi_loss + v_loss).backward()
        ao.step()
        co.step()
