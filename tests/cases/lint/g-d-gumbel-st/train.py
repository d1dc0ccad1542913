import torch
import torch.nn.functional as F


def route(gate, experts, x, y, opt):
    p = gate(x).softmax(-1)
    hard = F.one_hot(p.argmax(-1), p.size(-1)).float()
    w = hard + p - p.detach()
    out = sum(w[:, i : i + 1] * e(x) for i, e in enumerate(experts))
    loss = F.mse_loss(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
