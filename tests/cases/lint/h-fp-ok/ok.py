import copy

import torch
import torch.nn.functional as F


def train(net, vae, dl, opt):
    vae = vae.half().eval().requires_grad_(False)
    scaler = torch.amp.GradScaler("cuda")
    net.train()
    for x, y in dl:
        with torch.no_grad():
            z = vae(x.cuda(non_blocking=True).half())
        with torch.autocast("cuda", dtype=torch.float16):
            loss = F.cross_entropy(net(z), y.cuda(non_blocking=True))
        opt.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
    deploy = copy.deepcopy(net).half().eval()
    torch.save(deploy.state_dict(), "half.pt")


def bf16(net, dl):
    net = net.to("cuda", torch.bfloat16)
    opt = torch.optim.AdamW(net.parameters(), 1e-5)
    net.train()
    for x, y in dl:
        loss = F.cross_entropy(net(x.cuda().bfloat16()), y.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
