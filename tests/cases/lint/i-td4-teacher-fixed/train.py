import torch
import torch.nn.functional as F


def distill(student, teacher, loader, t=2.0):
    opt = torch.optim.AdamW(student.parameters(), 1e-4)
    teacher.eval()
    student.train()
    for x, y in loader:
        s = student(x)
        with torch.no_grad():
            z = teacher(x)
        kd = F.kl_div(F.log_softmax(s / t, 1), F.softmax(z / t, 1), reduction="batchmean") * t * t
        loss = F.cross_entropy(s, y) + kd
        opt.zero_grad()
        loss.backward()
        opt.step()
