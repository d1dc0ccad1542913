import torch


def epoch(vit, loader, criterion, opt, device):
    vit.train()
    total, correct = 0, 0
    for data, target in loader:
        data, target = data.to(device), target.to(device)
        logits = vit(data)
        err = criterion(logits, target)
        opt.zero_grad(set_to_none=True)
        err.backward()
        opt.step()
        total = total + err.detach() * data.size(0)
        correct += logits.argmax(1).eq(target).sum()
    return total / len(loader.dataset), correct
