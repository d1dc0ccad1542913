import torch.nn.functional as F


def mixup_kd(student, teacher_probs, x, y, opt, t=4.0):
    out = student(x)
    hard = F.cross_entropy(out, y)
    soft = F.kl_div(F.log_softmax(out / t, 1), teacher_probs, reduction="batchmean") * t * t
    entropy = -(F.softmax(out, 1) * F.log_softmax(out, 1)).sum(1).mean()
    opt.zero_grad()
    (hard + soft - 0.01 * entropy).backward()
    opt.step()
