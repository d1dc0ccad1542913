import torch


class Fit:
    def __init__(self, gnn):
        self.gnn = gnn
        self.adam = torch.optim.Adam(gnn.parameters(), 0.01)

    def go(self, g, y, mask, n):
        for _ in range(n):
            self.gnn.train()
            self.adam.zero_grad()
            loss = torch.nn.functional.nll_loss(self.gnn(g)[mask], y[mask])
            self.adam.step()
            print(loss.item())
