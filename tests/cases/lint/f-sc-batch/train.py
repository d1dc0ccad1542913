import torch
from torch.optim.lr_scheduler import StepLR


def train(unet, loader, epochs=60):
    opt = torch.optim.Adam(unet.parameters(), lr=1e-3)
    decay = StepLR(opt, step_size=20, gamma=0.1)
    for _ in range(epochs):
        for vol, seg in loader:
            opt.zero_grad()
            unet.loss(vol, seg).backward()
            opt.step()
            decay.step()
