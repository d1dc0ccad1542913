import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def finetune(lm, tok, dl, rank, out):
    dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    ddp = DDP(lm.cuda(), device_ids=[rank])
    opt = torch.optim.AdamW(ddp.parameters(), 1e-5)
    for b in dl:
        opt.zero_grad()
        ddp(**b).loss.backward()
        opt.step()
    if rank == 0:
        ddp.module.save_pretrained(out)
        tok.save_pretrained(out)
