import torch
from torch.optim import lr_scheduler


SCHEDULERS = {
    "plateau": lambda o: lr_scheduler.ReduceLROnPlateau(o, patience=3, factor=0.3),
}


@torch.no_grad()
def validate(net, dl, crit):
    net.eval()
    out = [crit(net(x.cuda()), y.cuda()) for x, y in dl]
    net.train()
    return torch.stack(out).mean().item()


def fit(net, tr, va, crit, epochs):
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    sched = SCHEDULERS["plateau"](opt)
    for ep in range(epochs):
        net.train()
        for x, y in tr:
            opt.zero_grad()
            crit(net(x.cuda()), y.cuda()).backward()
            opt.step()
        v = validate(net, va, crit)
        sched.step(v)
        print(ep, v)
