import torch


class Head(torch.nn.Module):
    def __init__(self, d, anchors):
        super().__init__()
        self.p = torch.nn.Linear(d, 4)
        self.anchors = torch.tensor(anchors)

    def forward(self, f):
        return self.p(f) * self.anchors.to(f.device)


def fit(head, loader, opt):
    head.cuda()
    for f, b in loader:
        opt.zero_grad()
        (head(f.cuda()) - b.cuda()).abs().mean().backward()
        opt.step()
