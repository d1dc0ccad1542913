import torch


def fit(net, dl, epochs, loss_fn):
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.95)
    for ep in range(epochs):
        sched.step()
        net.train()
        for x, y in dl:
            opt.zero_grad()
            loss_fn(net(x.cuda(non_blocking=True)), y.cuda(non_blocking=True)).backward()
            opt.step()
        torch.save(net.state_dict(), f"{ep}.pth")
