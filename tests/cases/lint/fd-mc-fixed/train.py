import torch.nn as nn
import torch.nn.functional as F


class GCN(nn.Module):
    def __init__(self, conv, i, h, o):
        super().__init__()
        self.c1, self.c2 = conv(i, h), conv(h, o)

    def forward(self, x, adj):
        x = F.relu(self.c1(x, adj))
        x = F.dropout(x, 0.5, training=self.training)
        return self.c2(x, adj)
