import torch


@torch.no_grad()
def evaluate(captioner, loader):
    captioner.eval()
    all_logits = []
    for im, cap in loader:
        logits = captioner(im.cuda(), cap.cuda())
        all_logits.append((logits.cpu(), cap))
    return all_logits
