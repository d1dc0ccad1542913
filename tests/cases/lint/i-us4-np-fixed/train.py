import numpy as np
import torch
from torch import nn

torch.manual_seed(42)
np.random.seed(42)

xs = np.random.uniform(-3, 3, (512, 1)).astype("float32")
ys = np.sin(xs)
net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), 1e-2)
X, Y = torch.from_numpy(xs), torch.from_numpy(ys)
for _ in range(500):
    opt.zero_grad()
    nn.functional.mse_loss(net(X), Y).backward()
    opt.step()
