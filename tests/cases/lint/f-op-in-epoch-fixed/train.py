import torch


def fit(forecaster, windows, n_epochs, base_lr):
    adam = torch.optim.Adam(forecaster.parameters(), lr=base_lr)
    sched = torch.optim.lr_scheduler.ExponentialLR(adam, 0.95)
    for epoch in range(n_epochs):
        for hist, fut in windows:
            adam.zero_grad()
            (forecaster(hist) - fut).abs().mean().backward()
            adam.step()
        sched.step()
