import argparse

import torch
from torch.utils.data import DataLoader


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--accumulation", type=int, default=4)
    p.add_argument("--lr", type=float, default=2e-5)
    return p.parse_args()


def main(model, dataset):
    args = parse()
    opt = torch.optim.AdamW(model.parameters(), args.lr)
    dl = DataLoader(dataset, 4, shuffle=True)
    model.train()
    for step, batch in enumerate(dl):
        loss = model(**batch)[0] / args.accumulation
        loss.backward()
        if step % args.accumulation == args.accumulation - 1 or step == len(dl) - 1:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            model.zero_grad()
