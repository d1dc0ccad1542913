import torch
import torch.nn.functional as F


def distil_step(student, teacher, x, y, opt, t=4.0, alpha=0.3):
    with torch.no_grad():
        soft = teacher(x) / t
    logits = student(x)
    kd = F.kl_div(F.log_softmax(logits / t, 1), F.softmax(soft, 1), reduction="batchmean") * t * t
    hard = F.cross_entropy(logits, y)
    opt.zero_grad()
    (alpha * hard + (1 - alpha) * kd).backward()
    opt.step()
