import torch
import torch.nn as nn


class Forecaster(nn.Module):
    def __init__(self, n_features, hidden=64, horizon=24):
        super().__init__()
        self.rnn = nn.LSTM(n_features, hidden, num_layers=2, dropout=0.1, batch_first=True)
        self.proj = nn.Linear(hidden, horizon)

    def forward(self, x):
        out, _ = self.rnn(x)
        return self.proj(out[:, -1])


def fit(model, train_loader, val_loader, epochs=50, lr=1e-3, patience=5):
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    huber = nn.HuberLoss()
    best, bad = float("inf"), 0
    for epoch in range(epochs):
        model.train()
        for x, y in train_loader:
            opt.zero_grad()
            huber(model(x), y).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            opt.step()
        model.eval()
        with torch.no_grad():
            val = sum(huber(model(x), y).item() for x, y in val_loader) / len(val_loader)
        if val < best:
            best, bad = val, 0
            torch.save(model.state_dict(), "forecaster.pt")
        else:
            bad += 1
            if bad >= patience:
                break
    return best
