import torch


def make_step(net, crit, opt):
    def step(x, y):
        net.train()
        loss = crit(net(x), y)
        loss.backward()
        opt.step()
        return loss.item()

    return step


def main(net, dl, epochs):
    step = make_step(net, torch.nn.MSELoss(), torch.optim.SGD(net.parameters(), 0.01))
    for _ in range(epochs):
        total = 0.0
        for x, y in dl:
            total += step(x, y)
        print(total / len(dl))
