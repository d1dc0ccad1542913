import torch
import torch.nn.functional as F
from torch import nn


class GraphLayer(nn.Module):
    def __init__(self, i, o, p):
        super().__init__()
        self.lin = nn.Linear(i, o, bias=False)
        self.a = nn.Parameter(torch.empty(2 * o, 1))
        nn.init.xavier_uniform_(self.a)
        self.p = p

    def forward(self, x, adj):
        h = self.lin(F.dropout(x, self.p))
        n = h.size(0)
        pair = torch.cat([h.repeat_interleave(n, 0), h.repeat(n, 1)], 1).view(n, n, -1)
        e = F.leaky_relu((pair @ self.a).squeeze(-1), 0.2)
        w = torch.where(adj > 0, e, torch.full_like(e, -9e15)).softmax(-1)
        return F.elu(w @ h)
