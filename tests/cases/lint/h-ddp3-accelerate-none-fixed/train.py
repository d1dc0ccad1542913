import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.utils.data import DataLoader


def main(rank, world, lm, corpus, collate):
    dist.init_process_group("nccl", rank=rank, world_size=world)
    torch.cuda.set_device(rank)
    lm = FSDP(lm, device_id=rank)
    dl = DataLoader(corpus, batch_size=4, sampler=torch.utils.data.DistributedSampler(corpus), collate_fn=collate, num_workers=2, pin_memory=True)
    opt = torch.optim.AdamW(lm.parameters(), 1e-5)
    for b in dl:
        opt.zero_grad()
        lm(**{k: v.to(rank) for k, v in b.items()}).loss.backward()
        opt.step()
