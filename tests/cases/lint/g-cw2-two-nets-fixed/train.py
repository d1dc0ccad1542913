import torch


def ac(actor, critic, buf, lr):
    oa = torch.optim.Adam(actor.parameters(), lr)
    oc = torch.optim.Adam(critic.parameters(), lr)
    for o, a, ret in buf:
        v = critic(o).squeeze(-1)
        oc.zero_grad()
        (v - ret).pow(2).mean().backward()
        torch.nn.utils.clip_grad_norm_(critic.parameters(), 0.5)
        oc.step()
        oa.zero_grad()
        (-(actor.logp(o, a) * (ret - v.detach()))).mean().backward()
        torch.nn.utils.clip_grad_norm_(actor.parameters(), 0.5)
        oa.step()
