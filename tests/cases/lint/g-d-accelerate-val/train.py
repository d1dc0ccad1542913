import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader


def main(net, tr_set, va_set, n):
    acc = Accelerator()
    opt = torch.optim.AdamW(net.parameters(), 1e-4)
    tr = DataLoader(tr_set, 16, shuffle=True)
    va = DataLoader(va_set, 16)
    net, opt, tr = acc.prepare(net, opt, tr)
    for _ in range(n):
        net.train()
        for x, y in tr:
            opt.zero_grad()
            acc.backward(torch.nn.functional.mse_loss(net(x), y))
            opt.step()
        acc.wait_for_everyone()
        if acc.is_main_process:
            raw = acc.unwrap_model(net).eval()
            with torch.no_grad():
                s = sum(torch.nn.functional.mse_loss(raw(x.to(acc.device)), y.to(acc.device)).item() for x, y in va)
            print(s / len(va))
