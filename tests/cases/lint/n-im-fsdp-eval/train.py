import os

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.utils.data import DataLoader, DistributedSampler


@torch.inference_mode()
def perplexity(model, loader):
    model.eval()
    total = torch.zeros(2, device="cuda")
    for ids in loader:
        ids = ids.cuda(non_blocking=True)
        total[0] += model(input_ids=ids, labels=ids).loss
        total[1] += 1
    dist.all_reduce(total)
    model.train()
    return torch.exp(total[0] / total[1]).item()


def main(model, train_ds, val_ds, epochs=2):
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group("nccl")
    torch.manual_seed(2)
    model = FSDP(model, device_id=local, use_orig_params=True)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-5)
    sampler = DistributedSampler(train_ds)
    train_dl = DataLoader(train_ds, 4, sampler=sampler, num_workers=2, pin_memory=True)
    val_dl = DataLoader(val_ds, 4, sampler=DistributedSampler(val_ds, shuffle=False), num_workers=2, pin_memory=True)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        model.train()
        for ids in train_dl:
            ids = ids.cuda(non_blocking=True)
            model(input_ids=ids, labels=ids).loss.backward()
            model.clip_grad_norm_(1.0)
            opt.step()
            opt.zero_grad(set_to_none=True)
        ppl = perplexity(model, val_dl)
        if dist.get_rank() == 0:
            print(epoch, ppl)
    dist.destroy_process_group()
