import torch


def run_epoch(siamese, loader, criterion, optim, device, train=True):
    siamese.train(train)
    total = torch.zeros((), device=device)
    for left, right, same in loader:
        left, right, same = left.to(device), right.to(device), same.to(device)
        with torch.set_grad_enabled(train):
            d = torch.pairwise_distance(siamese(left), siamese(right))
            loss = criterion(d, same)
        if train:
            optim.zero_grad()
            loss.backward()
            optim.step()
        total += loss.detach()
    return total.item() / len(loader)
