import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


def evaluate(lm, loader):
    lm.eval()
    tot = torch.zeros((), device="cuda")
    with torch.no_grad():
        for ids in loader:
            tot += lm(ids.cuda(non_blocking=True)).loss
    lm.train()
    return tot


def fit(lm, tr, va, epochs):
    lm = FSDP(lm)
    opt = torch.optim.AdamW(lm.parameters(), lr=1e-4)
    for _ in range(epochs):
        for ids in tr:
            opt.zero_grad()
            lm(ids.cuda(non_blocking=True)).loss.backward()
            opt.step()
        print(evaluate(lm, va))
