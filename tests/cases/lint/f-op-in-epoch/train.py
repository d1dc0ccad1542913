import torch


def fit(forecaster, windows, n_epochs, base_lr):
    for epoch in range(n_epochs):
        adam = torch.optim.Adam(forecaster.parameters(), lr=base_lr * 0.95 ** epoch)
        for hist, fut in windows:
            adam.zero_grad()
            (forecaster(hist) - fut).abs().mean().backward()
            adam.step()
