import torch
from torch import nn
from torchvision.models import efficientnet_b0


class Transfer:
    def __init__(self, classes, lr):
        self.net = efficientnet_b0(weights="IMAGENET1K_V1").cuda()
        self.opt = torch.optim.SGD(self.net.parameters(), lr=lr, momentum=0.9)
        self._adapt(classes)
        self.crit = nn.CrossEntropyLoss(label_smoothing=0.1)

    def _adapt(self, classes):
        width = self.net.classifier[1].in_features
        self.net.classifier[1] = nn.Linear(width, classes).cuda()

    def epoch(self, dl):
        self.net.train()
        for x, y in dl:
            self.opt.zero_grad()
            self.crit(self.net(x.cuda(non_blocking=True)), y.cuda(non_blocking=True)).backward()
            self.opt.step()
