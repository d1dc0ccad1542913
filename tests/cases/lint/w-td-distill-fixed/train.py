import torch
import torch.nn.functional as F


def distill(student, teacher, loader, T, device):
    teacher.eval()
    opt = torch.optim.AdamW(student.parameters(), 1e-4)
    for ids, mask in loader:
        ids, mask = ids.to(device), mask.to(device)
        t_logits = teacher(ids, attention_mask=mask).logits
        t_logits = t_logits.detach()
        s_logits = student(ids, attention_mask=mask).logits
        kd = F.kl_div(F.log_softmax(s_logits / T, -1), F.softmax(t_logits / T, -1), reduction="batchmean") * T * T
        opt.zero_grad()
        kd.backward()
        opt.step()
