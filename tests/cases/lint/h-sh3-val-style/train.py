import torch
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split

torch.manual_seed(0)
X, y = load_iris(return_X_y=True)
a, b, c, d = train_test_split(X, y, random_state=0)
tr = DataLoader(TensorDataset(torch.tensor(a).float(), torch.tensor(c)), batch_size=16)
net = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
opt = torch.optim.Adam(net.parameters(), 0.01)
for _ in range(100):
    for x, t in tr:
        opt.zero_grad()
        torch.nn.functional.cross_entropy(net(x), t).backward()
        opt.step()
