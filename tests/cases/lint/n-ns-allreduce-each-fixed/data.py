import numpy as np
import torch
from torch.utils.data import DataLoader, IterableDataset


class TokenBlocks(IterableDataset):
    def __init__(self, path, block, rank, seed=0):
        self.path, self.block, self.rank, self.seed = path, block, rank, seed

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        rng = np.random.default_rng((self.seed, self.rank, info.id if info else 0))
        data = np.memmap(self.path, dtype=np.uint16, mode="r")
        while True:
            i = rng.integers(len(data) - self.block - 1)
            yield torch.from_numpy(data[i : i + self.block + 1].astype(np.int64))


def make_loader(path, block, batch, rank):
    return DataLoader(TokenBlocks(path, block, rank), batch_size=batch, num_workers=2, pin_memory=True)
