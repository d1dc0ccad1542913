from torch.utils.data import DataLoader, DistributedSampler


def make_loader(ds, bs, world, rank):
    smp = DistributedSampler(ds, num_replicas=world, rank=rank, shuffle=True)
    return DataLoader(ds, batch_size=bs, sampler=smp, num_workers=8, pin_memory=True, drop_last=True)
