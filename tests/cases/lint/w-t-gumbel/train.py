import torch.nn.functional as F


def step(router, experts, head, x, y, opt):
    gate = F.softmax(router(x), dim=-1)
    h = sum(g.unsqueeze(-1) * e(x) for g, e in zip(gate.unbind(-1), experts))
    opt.zero_grad()
    F.cross_entropy(head(h), y).backward()
    opt.step()
