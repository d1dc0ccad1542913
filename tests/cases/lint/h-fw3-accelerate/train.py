import torch
from accelerate import Accelerator

accelerator = Accelerator(mixed_precision="fp16")


def go(net, opt, dl):
    net, opt, dl = accelerator.prepare(net, opt, dl)
    for x, y in dl:
        opt.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
