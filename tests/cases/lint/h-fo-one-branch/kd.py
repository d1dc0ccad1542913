import torch
import torch.nn.functional as F
from torch.cuda.amp import GradScaler, autocast


def train(student, teacher, dl, opt):
    scaler = GradScaler()
    teacher.eval()
    student.train()
    for x, y in dl:
        x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
        with torch.no_grad():
            t = teacher(x)
        s = student(x)
        with autocast():
            loss = F.cross_entropy(s, y) + F.kl_div(s.log_softmax(-1), t.softmax(-1), reduction="batchmean")
        opt.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
