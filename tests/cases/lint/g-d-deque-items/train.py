from collections import deque


def train(net, dl, opt, crit):
    recent = deque(maxlen=50)
    for i, (x, y) in enumerate(dl):
        opt.zero_grad()
        loss = crit(net(x), y)
        loss.backward()
        opt.step()
        recent.append(loss.detach())
        if i % 50 == 49:
            print(float(sum(recent) / len(recent)))
