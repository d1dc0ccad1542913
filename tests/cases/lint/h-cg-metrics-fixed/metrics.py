import torch
import torch.distributed as dist


def is_main():
    return not dist.is_initialized() or dist.get_rank() == 0


def reduce_mean(t):
    t = t.detach().clone()
    dist.all_reduce(t)
    return t / dist.get_world_size()


def train(net, dl, opt, crit, gpu, writer):
    net.train()
    for i, (x, y) in enumerate(dl):
        loss = crit(net(x.to(gpu)), y.to(gpu))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if i % 50 == 0:
            v = reduce_mean(loss)
            if is_main():
                writer.add_scalar("loss", v.item(), i)
