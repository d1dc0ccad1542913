import torch
from torch.func import functional_call


def maml(net, tasks, outer, inner_lr, k):
    opt = torch.optim.Adam(net.parameters(), outer)
    for batch in tasks:
        opt.zero_grad()
        total = 0.0
        for (xs, ys), (xq, yq) in batch:
            w = dict(net.named_parameters())
            for _ in range(k):
                l = torch.nn.functional.mse_loss(functional_call(net, w, xs), ys)
                g = torch.autograd.grad(l, list(w.values()), create_graph=True)
                w = {n: p - inner_lr * gg for (n, p), gg in zip(w.items(), g)}
            total = total + torch.nn.functional.mse_loss(functional_call(net, w, xq), yq)
        (total / len(batch)).backward()
        opt.step()
