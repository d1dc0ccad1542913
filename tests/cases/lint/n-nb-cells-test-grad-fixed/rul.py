# %%
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

np.random.seed(0)
torch.manual_seed(0)

# %%
df = pd.read_parquet("engines.parquet")
cols = [c for c in df.columns if c.startswith("sensor")]
x = torch.tensor(df[cols].values, dtype=torch.float32).view(-1, 30, len(cols))
y = torch.tensor(df["rul"].values[29::30], dtype=torch.float32)
split = int(0.8 * len(x))
train_dl = DataLoader(TensorDataset(x[:split], y[:split]), batch_size=128, shuffle=True)
test_dl = DataLoader(TensorDataset(x[split:], y[split:]), batch_size=256)

# %%
class RUL(nn.Module):
    def __init__(self, n, hidden=96):
        super().__init__()
        self.gru = nn.GRU(n, hidden, 2, batch_first=True, dropout=0.2)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        h, _ = self.gru(x)
        return self.out(h[:, -1]).squeeze(-1)


net = RUL(len(cols))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

# %%
for epoch in range(40):
    net.train()
    for xb, yb in train_dl:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(xb), yb)
        loss.backward()
        optimizer.step()
    if epoch % 10 == 0:
        print(epoch, loss.item())

# %%
net.eval()
errors = []
with torch.no_grad():
    for xb, yb in test_dl:
        errors.append((net(xb) - yb).abs().numpy())
print("MAE", np.concatenate(errors).mean())
