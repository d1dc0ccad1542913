import torch


def gradual(net, phases, crit):
    for p in net.trunk.parameters():
        p.requires_grad = False
    opt = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=1e-3)
    for k, dl in enumerate(phases):
        if k == 1:
            for p in net.trunk.parameters():
                p.requires_grad = True
        for x, y in dl:
            opt.zero_grad()
            crit(net(x), y).backward()
            opt.step()
