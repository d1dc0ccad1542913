import torch
import torch.distributed as dist


def pad_to(t, n):
    out = t.new_zeros(n, *t.shape[1:])
    out[: t.size(0)] = t
    return out


def gather_scores(scores, thr):
    keep = scores[scores > thr]
    n = torch.tensor([keep.size(0)], device=keep.device)
    sizes = [torch.zeros_like(n) for _ in range(dist.get_world_size())]
    dist.all_gather(sizes, n)
    top = int(torch.stack(sizes).max())
    out = [keep.new_zeros(top) for _ in sizes]
    dist.all_gather(out, pad_to(keep, top))
    return torch.cat([o[: int(s)] for o, s in zip(out, sizes)])


@torch.no_grad()
def evaluate(net, dl, gpu, thr=0.5):
    net.eval()
    mine = torch.cat([net(x.cuda(gpu)).sigmoid().flatten() for x, _ in dl])
    return gather_scores(mine, thr)
