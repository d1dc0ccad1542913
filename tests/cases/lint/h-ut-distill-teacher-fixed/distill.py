import torch
import torch.nn.functional as F
from torch import nn
from torchvision.models import resnet18, resnet50


class KD(nn.Module):
    def __init__(self, T=4.0, alpha=0.9):
        super().__init__()
        self.T, self.alpha = T, alpha

    def forward(self, s, t, y):
        soft = F.kl_div(F.log_softmax(s / self.T, 1), F.softmax(t / self.T, 1), reduction="batchmean") * self.T**2
        return self.alpha * soft + (1 - self.alpha) * F.cross_entropy(s, y)


def run(loader, epochs, device="cuda"):
    teacher = resnet50(weights="DEFAULT").to(device)
    teacher.eval()
    student = resnet18(num_classes=1000).to(device)
    crit = KD()
    opt = torch.optim.SGD(student.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, epochs)
    for _ in range(epochs):
        student.train()
        for x, y in loader:
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            with torch.no_grad():
                guide = teacher(x)
            loss = crit(student(x), guide, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        sched.step()
    return student
