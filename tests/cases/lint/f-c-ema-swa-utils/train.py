import torch
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn


def fit(net, dl, opt, crit):
    avg = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.999))
    for x, y in dl:
        opt.zero_grad()
        crit(net(x), y).backward()
        opt.step()
        avg.update_parameters(net)
    return avg
