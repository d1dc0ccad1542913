import torch
import torch.nn as nn
import torch.nn.functional as F


class KDLoss(nn.Module):
    def __init__(self, temperature=4.0, alpha=0.7):
        super().__init__()
        self.t, self.alpha = temperature, alpha

    def forward(self, student_logits, teacher_logits, target):
        soft_teacher = F.softmax(teacher_logits / self.t, dim=1)
        log_student = F.log_softmax(student_logits / self.t, dim=1)
        kd = F.kl_div(log_student, soft_teacher, reduction="batchmean") * self.t**2
        return self.alpha * kd + (1 - self.alpha) * F.cross_entropy(student_logits, target)


def train(student, teacher, loader, device, epochs=50):
    teacher.to(device).eval().requires_grad_(False)
    student.to(device)
    criterion = KDLoss()
    opt = torch.optim.SGD(student.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=epochs)
    for _ in range(epochs):
        student.train()
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            with torch.no_grad():
                guide = teacher(x)
            opt.zero_grad()
            criterion(student(x), guide, y).backward()
            opt.step()
        sched.step()
