import torch


def train(ae, dl, opt):
    for x in dl:
        rec = ae(x)
        loss = torch.mean((rec - x) ** 2)
        opt.zero_grad()
        loss.backward()
        opt.step()
