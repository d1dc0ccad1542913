import copy

import torch
import torch.nn.functional as F
from torch.nn.utils import clip_grad_value_


def compress(big, loader, device):
    small = copy.deepcopy(big).to(device)
    big.requires_grad_(False)
    held = list(small.parameters())
    adam = torch.optim.AdamW(small.parameters(), lr=1e-4)
    small.train()
    for tokens in loader:
        tokens = tokens.to(device)
        with torch.no_grad():
            wanted = big(tokens)
        adam.zero_grad()
        F.mse_loss(small(tokens), wanted).backward()
        clip_grad_value_(held, 0.5)
        adam.step()
