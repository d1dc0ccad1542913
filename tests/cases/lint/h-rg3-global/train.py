import torch

HISTORY = []


def step(lm, opt, batch):
    out = lm(**batch)
    opt.zero_grad()
    out.loss.backward()
    opt.step()
    HISTORY.append(out.loss)


def main(lm, dl):
    opt = torch.optim.AdamW(lm.parameters(), 1e-5)
    for b in dl:
        step(lm, opt, b)
    print(torch.stack(HISTORY).mean())
