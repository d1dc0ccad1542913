import torch
@torch.no_grad()
def evaluate(srnet, loader, psnr, device):
    srnet.eval()
    total = 0.0
    for lr, hr in loader:
        sr = srnet(lr.to(device)).clamp(0, 1)
        total += psnr(sr, hr.to(device)).item()
    return total / len(loader)


def train(srnet, tr, va, opt, l1, psnr, device, epochs):
    for _ in range(epochs):
        srnet.train()
        for lr, hr in tr:
            opt.zero_grad()
            l1(srnet(lr.to(device)), hr.to(device)).backward()
            opt.step()
        evaluate(srnet, va, psnr, device)
