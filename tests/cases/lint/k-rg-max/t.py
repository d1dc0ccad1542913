import torch.nn.functional as F


def run(net, opt, data):
    ema = None
    for i, (x, y) in enumerate(data):
        l = F.mse_loss(net(x), y)
        opt.zero_grad()
        l.backward()
        opt.step()
        ema = l if ema is None else 0.98 * ema + 0.02 * l
        if i % 100 == 0:
            print(f"{float(ema):.3f}")
