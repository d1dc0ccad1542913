import math

import torch
from accelerate import Accelerator
from transformers import get_scheduler


def main(lm, dl, epochs, lr, warmup=0.03):
    acc = Accelerator()
    opt = torch.optim.AdamW(lm.parameters(), lr=lr)
    total = epochs * len(dl)
    sched = get_scheduler("cosine", opt, math.ceil(warmup * total), total)
    lm, opt, dl, sched = acc.prepare(lm, opt, dl, sched)
    lm.train()
    for _ in range(epochs):
        for b in dl:
            acc.backward(lm(**b).loss)
            opt.step()
            sched.step()
            opt.zero_grad()
