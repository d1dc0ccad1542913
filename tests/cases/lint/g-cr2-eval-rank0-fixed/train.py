import torch
import torch.distributed as dist


def evaluate(net, dl, rank):
    net.eval()
    s = torch.zeros(2, device=rank)
    with torch.no_grad():
        for x, y in dl:
            s[0] += (net(x.to(rank)).argmax(1) == y.to(rank)).sum()
            s[1] += len(y)
    dist.reduce(s, dst=0)
    if rank == 0:
        print("acc", (s[0] / s[1]).item())
    net.train()
