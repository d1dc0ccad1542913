import torch
import torch.nn.functional as F


def make_anchors(sizes, grid):
    ys, xs = torch.meshgrid(torch.arange(grid), torch.arange(grid), indexing="ij")
    c = torch.stack([xs, ys], -1).reshape(-1, 1, 2).float()
    wh = torch.tensor(sizes).view(1, -1, 2).expand(grid * grid, -1, -1)
    return torch.cat([c.expand(-1, len(sizes), -1), wh], -1)


class Detector:
    def __init__(self, net, opt, sizes, grid=32):
        self.net, self.opt = net.cuda(), opt
        self.anchors = make_anchors(sizes, grid)

    def step(self, x, delta):
        anchors = self.anchors.cuda()
        pred = self.net(x)
        boxes = torch.cat([anchors[..., :2] + pred[..., :2], anchors[..., 2:] * pred[..., 2:].exp()], -1)
        return F.smooth_l1_loss(boxes, delta)

    def epoch(self, dl):
        self.net.train()
        for x, d in dl:
            loss = self.step(x.cuda(non_blocking=True), d.cuda(non_blocking=True))
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
