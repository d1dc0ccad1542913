from torch.optim import lr_scheduler


def train(model, dl, opt, crit, n):
    scheduler = lr_scheduler.StepLR(opt, 30)
    for epoch in range(n):
        for x, y in dl:
            opt.zero_grad()
            crit(model(x), y).backward()
            opt.step()
        scheduler.step()
