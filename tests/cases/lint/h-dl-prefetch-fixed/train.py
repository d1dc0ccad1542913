import torch

from config import DataConfig
from data import loader


def train(files, net):
    torch.manual_seed(0)
    dl = loader(files, DataConfig())
    net.cuda().train()
    opt = torch.optim.Adam(net.parameters(), 1e-4)
    for x in dl:
        x = x.cuda(non_blocking=True)
        loss = torch.nn.functional.mse_loss(net(x), x)
        opt.zero_grad()
        loss.backward()
        opt.step()
