import numpy as np
import torch
from torch.utils.data import DataLoader, random_split


def main(args, dataset, make_model):
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    n = len(dataset)
    train_set, val_set = random_split(dataset, [int(0.9 * n), n - int(0.9 * n)])
    model = make_model()
    loader = DataLoader(train_set, batch_size=64, shuffle=True)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        opt.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        opt.step()
