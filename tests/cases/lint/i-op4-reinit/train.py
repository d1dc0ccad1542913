import torch


def train(net, tasks, epochs):
    for epoch in range(epochs):
        for x, y in tasks:
            opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
            opt.zero_grad()
            torch.nn.functional.mse_loss(net(x), y).backward()
            opt.step()
