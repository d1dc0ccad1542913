import functools

import torch
import torch.nn.functional as F


def evaluating(fn):
    @functools.wraps(fn)
    def wrapper(model, *args, **kwargs):
        was_training = model.training
        model.eval()
        try:
            with torch.no_grad():
                return fn(model, *args, **kwargs)
        finally:
            model.train(was_training)

    return wrapper


@evaluating
def validate(model, loader, device):
    total, n = 0.0, 0
    for x, y in loader:
        out = model(x.to(device))
        total += F.cross_entropy(out, y.to(device), reduction="sum").item()
        n += len(y)
    return total / n


def train(model, train_dl, val_dl, device, epochs=10):
    opt = torch.optim.Adam(model.to(device).parameters(), lr=1e-3)
    model.train()
    for epoch in range(epochs):
        for x, y in train_dl:
            opt.zero_grad()
            F.cross_entropy(model(x.to(device)), y.to(device)).backward()
            opt.step()
        print(epoch, validate(model, val_dl, device))
