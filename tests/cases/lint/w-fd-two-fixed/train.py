import torch
import torch.nn.functional as F
from torch_geometric.nn import GATConv


class GAT(torch.nn.Module):
    def __init__(self, f, h, c):
        super().__init__()
        self.g1, self.g2 = GATConv(f, h, heads=8), GATConv(8 * h, c)

    def forward(self, x, edges):
        x = F.dropout(x, 0.6, training=self.training)
        x = F.elu(self.g1(x, edges))
        return self.g2(x, edges)
