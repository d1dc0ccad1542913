import torch
import torch.nn.functional as F
from torch.optim.lr_scheduler import MultiStepLR


def train(net, train_dl, device, epochs=200):
    net.to(device)
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4, nesterov=True)
    sched = MultiStepLR(opt, milestones=[60, 120, 160], gamma=0.2)
    for epoch in range(epochs):
        net.train()
        for x, y in train_dl:
            x, y = x.to(device), y.to(device)
            opt.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            opt.step()
        sched.step()
        print(f"{epoch}: loss={loss.item():.3f} lr={sched.get_last_lr()[0]:.5f}")
        if (epoch + 1) % 20 == 0:
            torch.save(net.state_dict(), f"ckpt_{epoch + 1}.pt")
