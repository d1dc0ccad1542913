from torch.utils.data import DataLoader


def build(ds, bs, workers):
    return DataLoader(ds, batch_size=bs, shuffle=True, num_workers=workers, pin_memory=True, drop_last=True)
