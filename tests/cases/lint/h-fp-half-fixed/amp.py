import torch
import torch.nn.functional as F


def build(make, amp):
    net = make().cuda()
    if amp:
        net = net.to(memory_format=torch.channels_last)
    opt = torch.optim.AdamW(net.parameters(), 1e-4)
    return net, opt


def train(make, dl):
    net, opt = build(make, True)
    scaler = torch.amp.GradScaler("cuda")
    net.train()
    for x, y in dl:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = F.cross_entropy(net(x.cuda(non_blocking=True)), y.cuda(non_blocking=True))
        opt.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(opt)
        scaler.update()
