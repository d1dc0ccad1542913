from contextlib import nullcontext

import torch


def mixed(enabled):
    return torch.autocast("cuda", dtype=torch.bfloat16) if enabled else nullcontext()
