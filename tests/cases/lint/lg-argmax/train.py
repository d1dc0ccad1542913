import torch.nn.functional as F


def fit(net, loader, opt):
    for x, y in loader:
        opt.zero_grad()
        pred = net(x).argmax(dim=1).float()
        loss = F.mse_loss(pred, y.float())
        loss.requires_grad_(True)
        loss.backward()
        opt.step()
