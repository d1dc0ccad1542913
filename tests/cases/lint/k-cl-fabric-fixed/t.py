import torch


def step(net, opt, scaler, loss):
    opt.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    torch.nn.utils.clip_grad_value_(net.parameters(), 0.5)
    scaler.step(opt)
    scaler.update()


def train(net, opt, dl, crit):
    scaler = torch.amp.GradScaler("cuda")
    for x, y in dl:
        with torch.autocast("cuda", torch.float16):
            loss = crit(net(x), y)
        step(net, opt, scaler, loss)
