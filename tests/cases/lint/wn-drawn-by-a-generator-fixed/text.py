import torch
import torch.nn.functional as F


def pieces(numbers, count, length=128):
    data = torch.as_tensor(numbers)
    for _ in range(count):
        starts = torch.randint(len(data) - length - 1, (32,))
        block = torch.stack([data[s : s + length + 1] for s in starts])
        yield block[:, :-1], block[:, 1:]


def write(net, numbers, adam):
    for count, (given, wanted) in enumerate(pieces(numbers, 5000)):
        loss = F.cross_entropy(net(given.cuda()).flatten(0, 1), wanted.cuda().flatten())
        adam.zero_grad()
        loss.backward()
        adam.step()
        if count % 100 == 0:
            print(count, loss.item())
