import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def load_frame(path, target):
    df = pd.read_csv(path).dropna()
    y = torch.tensor(df.pop(target).values, dtype=torch.float32).unsqueeze(1)
    x = torch.tensor(df.values, dtype=torch.float32)
    return TensorDataset((x - x.mean(0)) / (x.std(0) + 1e-6), y)


def train(path, target="price", epochs=40):
    torch.manual_seed(2024)
    ds = load_frame(path, target)
    dl = DataLoader(ds, batch_size=256, shuffle=True)
    n_in = ds.tensors[0].shape[1]
    mlp = nn.Sequential(nn.Linear(n_in, 128), nn.SiLU(), nn.Linear(128, 64), nn.SiLU(), nn.Linear(64, 1))
    loss_fn = nn.MSELoss()
    for epoch in range(epochs):
        optimizer = torch.optim.Adam(mlp.parameters(), lr=1e-3)
        mlp.train()
        for xb, yb in dl:
            optimizer.zero_grad()
            loss = loss_fn(mlp(xb), yb)
            loss.backward()
            optimizer.step()
        if epoch % 5 == 0:
            print(epoch, loss.item())
    return mlp


if __name__ == "__main__":
    torch.save(train("houses.csv").state_dict(), "mlp.pt")
