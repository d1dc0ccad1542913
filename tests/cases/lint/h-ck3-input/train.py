import torch
from torch.utils.checkpoint import checkpoint


class Net(torch.nn.Module):
    def __init__(self, blocks, head):
        super().__init__()
        self.blocks, self.head = torch.nn.ModuleList(blocks), head

    def forward(self, x):
        for b in self.blocks:
            x = checkpoint(b, x, use_reentrant=True)
        return self.head(x)


def train(blocks, head, dl, opt):
    net = Net(blocks, head)
    for img, y in dl:
        opt.zero_grad()
        torch.nn.functional.cross_entropy(net(img), y).backward()
        opt.step()
