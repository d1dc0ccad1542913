import copy

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.f = nn.Sequential(nn.Conv2d(3, 64, 3, 2, 1), nn.BatchNorm2d(64), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
        self.drop = nn.Dropout(0.5)
        self.fc = nn.Linear(64, k)

    def forward(self, x):
        return self.fc(self.drop(self.f(x).flatten(1)))


def pseudo_label_training(student, ckpt, dl, opt, tau=0.95):
    teacher = copy.deepcopy(student)
    teacher.load_state_dict(torch.load(ckpt, map_location="cpu"))
    teacher.cuda().requires_grad_(False)
    student.cuda().train()
    teacher.eval()
    for weak, strong in dl:
        with torch.no_grad():
            p = teacher(weak.cuda(non_blocking=True)).softmax(-1)
        conf, lab = p.max(-1)
        loss = (F.cross_entropy(student(strong.cuda(non_blocking=True)), lab, reduction="none") * (conf > tau)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


if __name__ == "__main__":
    from data import loader

    torch.manual_seed(0)
    net = Net(10)
    pseudo_label_training(net, "teacher.pt", loader, torch.optim.SGD(net.parameters(), 0.03))
