import torch


def train(net, dl, opt, margin):
    net.train()
    mined = 0
    for a, ids in dl:
        z = net(a.cuda(non_blocking=True))
        d = torch.cdist(z, z)
        ids = ids.cuda(non_blocking=True)
        same = ids[:, None] == ids[None]
        hard = torch.where(same, d, torch.zeros_like(d)).amax(1)
        easy = torch.where(same, torch.full_like(d, 1e9), d).amin(1)
        loss = torch.relu(hard - easy + margin).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        for i in range(z.size(0)):
            if hard[i].item() > easy[i].item():
                mined += 1
    return int(mined)
