import torch


def sample_images(diff, n):
    diff.eval()
    with torch.no_grad():
        out = diff.sample(n)
    return out


def train(diff, loader, opt, steps):
    diff.train()
    it = iter(loader)
    for step in range(steps):
        loss = diff.training_losses(next(it)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 1000 == 0:
            sample_images(diff, 16)
