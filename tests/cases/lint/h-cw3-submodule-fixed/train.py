import torch


def finetune(student, teacher, dl, kd):
    opt = torch.optim.AdamW(student.parameters(), 1e-4)
    for x in dl:
        with torch.no_grad():
            t = teacher(x)
        opt.zero_grad()
        kd(student(x), t).backward()
        torch.nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        opt.step()
