import torch


def finetune(bert, batches):
    opt = torch.optim.AdamW(bert.parameters(), lr=2e-5)
    bert.train()
    for b in batches:
        opt.zero_grad()
        bert(**b).loss.backward()
        opt.step()
