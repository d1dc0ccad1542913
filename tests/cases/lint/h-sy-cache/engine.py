import gc

import torch


def cleanup():
    gc.collect()
    torch.cuda.empty_cache()


def train_epoch(net, dl, opt, crit, log_every=50):
    net.train()
    running = torch.zeros((), device="cuda")
    for i, (x, y) in enumerate(dl):
        opt.zero_grad(set_to_none=True)
        loss = crit(net(x.cuda(non_blocking=True)), y.cuda(non_blocking=True))
        loss.backward()
        opt.step()
        running += loss.detach()
        cleanup()
        if i % log_every == log_every - 1:
            print(i, running.item() / log_every)
            running.zero_()
