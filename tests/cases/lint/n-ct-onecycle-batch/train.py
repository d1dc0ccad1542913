import torch
import torch.nn.functional as F
from torch.optim.lr_scheduler import OneCycleLR


def superconverge(net, loader, device, epochs=24, max_lr=0.4):
    net.to(device)
    opt = torch.optim.SGD(net.parameters(), lr=max_lr / 25, momentum=0.9, weight_decay=5e-4)
    sched = OneCycleLR(opt, max_lr=max_lr, epochs=epochs, steps_per_epoch=len(loader))
    for epoch in range(epochs):
        net.train()
        for x, y in loader:
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            opt.zero_grad()
            loss = F.cross_entropy(net(x), y, label_smoothing=0.1)
            loss.backward()
            opt.step()
            sched.step()
        print(epoch, loss.item(), sched.get_last_lr())
    torch.save(net.state_dict(), "net.pt")
