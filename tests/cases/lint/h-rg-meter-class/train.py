import torch.nn.functional as F

from meters import MeterBank


def train_one_epoch(net, loader, optimizer, device, print_freq=100):
    net.train()
    bank = MeterBank()
    for step, (images, target) in enumerate(loader):
        images = images.to(device, non_blocking=True)
        target = target.to(device, non_blocking=True)
        logits, aux = net(images)
        main = F.cross_entropy(logits, target)
        side = F.cross_entropy(aux, target)
        total = main + 0.4 * side
        optimizer.zero_grad(set_to_none=True)
        total.backward()
        optimizer.step()
        bank.log(n=images.size(0), total=total, main=main)
        if step % print_freq == 0:
            print(step, bank.summary())
    return bank.summary()
