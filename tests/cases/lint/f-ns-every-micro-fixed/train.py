import torch
from torch.nn.parallel import DistributedDataParallel


def train(gpt, stream, rank, micro):
    ddp = DistributedDataParallel(gpt.to(rank), device_ids=[rank])
    opt = torch.optim.AdamW(ddp.parameters(), 6e-4)
    while True:
        for k in range(micro):
            ddp.require_backward_grad_sync = k == micro - 1
            x, y = next(stream)
            _, loss = ddp(x, y)
            (loss / micro).backward()
        opt.step()
        opt.zero_grad(set_to_none=True)
