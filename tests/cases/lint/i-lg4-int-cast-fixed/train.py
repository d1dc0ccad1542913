import torch


def train(counter, loader, opt):
    for im, n in loader:
        dens = counter(im)
        pred = dens.sum((1, 2, 3))
        mae = (pred - n).abs().mean()
        opt.zero_grad()
        mae.backward()
        opt.step()
