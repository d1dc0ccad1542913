import torch


def train(net, dl, opt, crit):
    scaler = torch.amp.GradScaler()
    for x, y in dl:
        opt.zero_grad()
        with torch.autocast("cuda"):
            loss = crit(net(x), y)
        loss.backward()
        scaler.step(opt)
        scaler.update()
