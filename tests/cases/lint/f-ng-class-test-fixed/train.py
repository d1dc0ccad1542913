import torch


class Solver(object):
    def __init__(self, gcn, adam, bce):
        self.gcn = gcn
        self.adam = adam
        self.bce = bce

    def train(self, graphs):
        self.gcn.train()
        for g in graphs:
            self.adam.zero_grad()
            self.bce(self.gcn(g.x, g.edge_index), g.y).backward()
            self.adam.step()

    @torch.no_grad()
    def test(self, graphs):
        self.gcn.eval()
        right = 0
        for g in graphs:
            p = self.gcn(g.x, g.edge_index)
            right += ((p > 0) == g.y).sum().item()
        return right
