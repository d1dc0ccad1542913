import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader


def main(bert, train_set, dev_set, epochs):
    acc = Accelerator()
    opt = torch.optim.AdamW(bert.parameters(), lr=2e-5)
    train_dl = DataLoader(train_set, batch_size=16, shuffle=True)
    dev_dl = DataLoader(dev_set, batch_size=32)
    bert, opt, train_dl = acc.prepare(bert, opt, train_dl)
    for _ in range(epochs):
        bert.train()
        for b in train_dl:
            loss = bert(**b).loss
            acc.backward(loss)
            opt.step()
            opt.zero_grad()
        bert.eval()
        hits = total = 0
        for b in dev_dl:
            with torch.no_grad():
                guess = bert(**b).logits.argmax(-1)
            guess, ref = acc.gather_for_metrics((guess, b["labels"]))
            hits += (guess == ref).sum().item()
            total += ref.numel()
        acc.print(hits / total)
