import torch


def a2c(actor, critic, batches):
    oa = torch.optim.Adam(actor.parameters(), 3e-4)
    oc = torch.optim.Adam(critic.parameters(), 1e-3)
    for s, a, r in batches:
        adv = r - critic(s)
        lc = adv.pow(2).mean()
        oc.zero_grad()
        lc.backward()
        torch.nn.utils.clip_grad_norm_(actor.parameters(), 0.5)
        oc.step()
        la = -(actor(s).log_prob(a) * adv.detach()).mean()
        oa.zero_grad()
        la.backward()
        torch.nn.utils.clip_grad_norm_(actor.parameters(), 0.5)
        oa.step()
