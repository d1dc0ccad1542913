import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def nt_xent(a, b, temperature=0.2):
    z = F.normalize(torch.cat([a, b]), dim=1)
    sim = z @ z.t() / temperature
    sim.fill_diagonal_(float("-inf"))
    n = a.size(0)
    target = torch.arange(2 * n, device=z.device).roll(n)
    return F.cross_entropy(sim, target)


def main(dataset, model, epochs=100):
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    torch.manual_seed(8)
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, 256, sampler=sampler, num_workers=8, pin_memory=True, drop_last=True)
    model = DDP(model.cuda(local_rank), device_ids=[local_rank])
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-4)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        model.train()
        for (view1, view2), _ in loader:
            view1 = view1.cuda(local_rank, non_blocking=True)
            view2 = view2.cuda(local_rank, non_blocking=True)
            z = model(torch.cat([view1, view2]))
            loss = nt_xent(*z.chunk(2))
            opt.zero_grad()
            loss.backward()
            opt.step()
        if local_rank == 0 and dist.get_rank() == 0:
            torch.save(model.module.state_dict(), f"simclr_{epoch}.pt")
    dist.destroy_process_group()
