from torch.utils.data import BatchSampler, DataLoader, RandomSampler


def words(corpus, size):
    groups = BatchSampler(RandomSampler(corpus), size, drop_last=True)
    return DataLoader(corpus, batch_sampler=groups, num_workers=2)
