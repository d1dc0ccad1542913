import torch

def g_update(gen, critic, z, opt_g):
    opt_g.zero_grad()
    fake = gen(z).detach()
    loss = -critic(fake).mean()
    loss.backward()
    opt_g.step()


def make(gen):
    return torch.optim.Adam(gen.parameters(), lr=1e-4)


def loop(gen, critic, zs):
    opt_g = make(gen)
    for z in zs:
        g_update(gen, critic, z, opt_g)
