from torch.utils.data import BatchSampler, DataLoader, RandomSampler


def words(corpus, size):
    groups = BatchSampler(RandomSampler(corpus), size, drop_last=True)
    return DataLoader(corpus, batch_sampler=groups, drop_last=True, num_workers=2)
