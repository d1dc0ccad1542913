import torch
from torch import nn
from torchvision.models import resnet50


def probe(dl, n):
    net = resnet50(weights="DEFAULT")
    for p in net.parameters():
        p.requires_grad_(False)
    net.fc = nn.Linear(net.fc.in_features, n)
    net.cuda()
    opt = torch.optim.SGD(net.fc.parameters(), lr=0.1, momentum=0.9)
    net.eval()
    for x, y in dl:
        opt.zero_grad()
        nn.functional.cross_entropy(net(x.cuda()), y.cuda()).backward()
        opt.step()


class Gradual:
    def __init__(self, backbone, head):
        self.backbone, self.head = backbone, head
        self.opt = torch.optim.AdamW(head.parameters(), lr=1e-3)

    def unfreeze(self, lr):
        self.opt.add_param_group({"params": self.backbone.parameters(), "lr": lr})

    def run(self, dl, epochs):
        for ep in range(epochs):
            if ep == 2:
                self.unfreeze(1e-5)
            self.backbone.train(ep >= 2)
            for x, y in dl:
                with torch.set_grad_enabled(ep >= 2):
                    z = self.backbone(x)
                self.opt.zero_grad()
                nn.functional.cross_entropy(self.head(z), y).backward()
                self.opt.step()
