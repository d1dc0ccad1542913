from torch.utils.data import BatchSampler, DataLoader, DistributedSampler


def make(ds, bs, rank, world):
    smp = DistributedSampler(ds, num_replicas=world, rank=rank, shuffle=True, drop_last=True)
    dl = DataLoader(ds, batch_sampler=BatchSampler(smp, bs, True), num_workers=4, pin_memory=True)
    return dl, smp
