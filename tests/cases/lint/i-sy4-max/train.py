import torch


def fit(pinn, pts, opt, residual, n):
    best = float("inf")
    for it in range(n):
        opt.zero_grad()
        loss = residual(pinn, pts).pow(2).mean()
        loss.backward()
        opt.step()
        if loss.item() < best:
            best = loss.item()
