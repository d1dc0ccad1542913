import torch


def finetune(lm, dl, opt):
    for b in dl:
        opt.zero_grad()
        loss = lm(**{k: v.cuda() for k, v in b.items()}).loss
        loss.backward()
        opt.step()
