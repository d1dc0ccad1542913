from torch.utils.data import DataLoader, DistributedSampler


def build(ds, bs, workers):
    return DataLoader(ds, batch_size=bs, sampler=DistributedSampler(ds), num_workers=workers, pin_memory=True, drop_last=True)
