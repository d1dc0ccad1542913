import torch.nn.functional as F


def fit(net, loader, opt):
    for x, y in loader:
        opt.zero_grad()
        pred = net(x).squeeze(1)
        loss = F.mse_loss(pred, y.float())
        loss.backward()
        opt.step()
