import torch


def train(lm, adapters, loader):
    for p in lm.parameters():
        p.requires_grad_(False)
    opt = torch.optim.AdamW(adapters.parameters(), 1e-4)
    for ids, y in loader:
        with torch.no_grad():
            h = lm(ids).last_hidden_state
        opt.zero_grad()
        torch.nn.functional.cross_entropy(adapters(h[:, 0]), y).backward()
        opt.step()
