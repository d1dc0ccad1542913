import torch
from torch import nn


class Forecaster(nn.Module):
    def __init__(self, n_in, width=128):
        super().__init__()
        self.cell = nn.GRU(n_in, width, num_layers=2, batch_first=True)
        self.out = nn.Linear(width, 1)

    def forward(self, window, memory=None):
        seq, memory = self.cell(window, memory)
        return self.out(seq[:, -1]).squeeze(-1), memory


class Runner:
    def __init__(self, cfg):
        self.cfg = cfg
        self.model = Forecaster(cfg.n_features, cfg.width).to(cfg.device)
        self.optim = torch.optim.RMSprop(self.model.parameters(), lr=cfg.lr)

    def run_series(self, series):
        self.model.train()
        memory = None
        for window, nxt in series:
            window, nxt = window.to(self.cfg.device), nxt.to(self.cfg.device)
            self.optim.zero_grad()
            guess, memory = self.model(window, memory)
            err = (guess - nxt).pow(2).mean()
            err.backward()
            self.optim.step()

    def fit(self, all_series):
        for epoch in range(self.cfg.epochs):
            for series in all_series:
                self.run_series(series)
