import torch


def pretrain(model, loader, lr):
    optimizer = torch.optim.AdamW(model.parameters(), lr)
    sched = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1, s / 100))
    for batch in loader:
        optimizer.zero_grad()
        loss = model(batch)
        loss.backward()
        sched.step()
