import torch


def calibrate(logits, labels, tol):
    temp = torch.nn.Parameter(torch.ones(1))
    opt = torch.optim.Adam([temp], lr=0.01)
    prev, cur = float("inf"), 1e9
    while prev - cur > tol:
        nll = torch.nn.functional.cross_entropy(logits / temp, labels)
        nll.backward()
        opt.step()
        prev, cur = cur, nll.item()
    return temp.item()
