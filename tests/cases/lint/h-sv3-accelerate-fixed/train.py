import torch
from accelerate import Accelerator


def train(net, opt, dl, n):
    acc = Accelerator()
    net, opt, dl = acc.prepare(net, opt, dl)
    for e in range(n):
        for b in dl:
            loss = net(**b).loss
            acc.backward(loss)
            opt.step()
            opt.zero_grad()
        if acc.is_main_process:
            torch.save(acc.unwrap_model(net).state_dict(), f"epoch{e}.pt")
