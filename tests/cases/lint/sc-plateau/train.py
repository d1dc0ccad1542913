import torch


def run(model, tr, crit, validate):
    opt = torch.optim.Adam(model.parameters())
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=3)
    for _ in range(50):
        for x, y in tr:
            opt.zero_grad()
            crit(model(x), y).backward()
            opt.step()
        validate(model)
        plateau.step()
