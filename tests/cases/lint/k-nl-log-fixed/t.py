import torch
import torch.nn.functional as F


def train(net, dl, opt):
    for x, y in dl:
        p = torch.log_softmax(net(x), 1)
        loss = F.nll_loss(p, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
