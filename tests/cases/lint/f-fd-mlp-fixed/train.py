import torch
import torch.nn.functional as F


class GAT(torch.nn.Module):
    def __init__(self, convs, p):
        super().__init__()
        self.convs = torch.nn.ModuleList(convs)
        self.p = p

    def forward(self, x, adj):
        for c in self.convs[:-1]:
            x = F.dropout(x, self.p, training=self.training)
            x = F.elu(c(x, adj))
        return F.log_softmax(self.convs[-1](x, adj), dim=1)
