import torch
import torch.nn as nn
import torch.nn.functional as F
from torch_geometric.datasets import Planetoid
from torch_geometric.nn import GCNConv


class GCN(nn.Module):
    def __init__(self, n_in, n_hid, n_out):
        super().__init__()
        self.conv1, self.conv2 = GCNConv(n_in, n_hid), GCNConv(n_hid, n_out)
        self.bn = nn.BatchNorm1d(n_hid)
        self.drop = nn.Dropout(0.5)

    def forward(self, x, edge_index):
        h = self.drop(F.relu(self.bn(self.conv1(x, edge_index))))
        return self.conv2(h, edge_index)


def train_step(model, data, opt):
    model.train()
    opt.zero_grad()
    out = model(data.x, data.edge_index)
    F.cross_entropy(out[data.train_mask], data.y[data.train_mask]).backward()
    opt.step()


@torch.no_grad()
def evaluate(model, data):
    model.eval()
    out = model(data.x, data.edge_index)
    pred = out.argmax(dim=-1)
    accs = []
    for mask in (data.train_mask, data.val_mask, data.test_mask):
        accs.append((pred[mask] == data.y[mask]).float().mean().item())
    return accs


def main():
    torch.manual_seed(12345)
    device = torch.device("cuda")
    dataset = Planetoid("data", "Cora")
    data = dataset[0].to(device)
    model = GCN(dataset.num_features, 64, dataset.num_classes).to(device)
    opt = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    best = 0.0
    for epoch in range(200):
        train_step(model, data, opt)
        tr, va, te = evaluate(model, data)
        if va > best:
            best = va
            print(f"{epoch:3d} train {tr:.3f} val {va:.3f} test {te:.3f}")


if __name__ == "__main__":
    main()
