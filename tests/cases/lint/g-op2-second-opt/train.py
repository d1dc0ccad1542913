import torch


def vqgan(ae, disc, dl, lr):
    opt_ae = torch.optim.Adam(ae.parameters(), lr)
    opt_d = torch.optim.Adam(disc.parameters(), lr)
    for x in dl:
        rec, q = ae(x)
        opt_ae.zero_grad()
        ((rec - x).abs().mean() + q - 0.1 * disc(rec).mean()).backward()
        opt_ae.step()
        opt_d.zero_grad()
        d = torch.relu(1 - disc(x)).mean() + torch.relu(1 + disc(rec.detach())).mean()
        d.backward()
        opt_ae.step()
