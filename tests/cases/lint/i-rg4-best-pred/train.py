import torch


def evaluate(captioner, loader):
    captioner.eval()
    all_logits = []
    for im, cap in loader:
        logits = captioner(im.cuda(), cap.cuda())
        all_logits.append((logits, cap))
    return all_logits
