import torch


def train(ae, dl, opt):
    for x in dl:
        rec = ae(x)
        loss = torch.mean((rec.data - x) ** 2)
        loss.requires_grad = True
        opt.zero_grad()
        loss.backward()
        opt.step()
