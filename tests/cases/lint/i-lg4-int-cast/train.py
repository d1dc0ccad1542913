import torch


def train(counter, loader, opt):
    for im, n in loader:
        dens = counter(im)
        pred = dens.sum((1, 2, 3)).cpu().numpy()
        mae = torch.from_numpy(abs(pred - n.numpy())).mean()
        mae.requires_grad_()
        opt.zero_grad()
        mae.backward()
        opt.step()
