import torch
import torch.nn.functional as F


def translate(net, pairs, width, epochs):
    sgd = torch.optim.SGD(net.parameters(), lr=0.3)
    for _ in range(epochs):
        for number, (source, target) in enumerate(pairs):
            waiting = (number + 1) % width != 0
            loss = F.cross_entropy(net(source), target)
            (loss / width).backward()
            if waiting:
                continue
            sgd.step()
            sgd.zero_grad()
