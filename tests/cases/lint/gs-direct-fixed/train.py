from torch.cuda import amp


def train(model, loader, optimizer, lossf):
    gs = amp.GradScaler()
    for x, y in loader:
        optimizer.zero_grad()
        with amp.autocast():
            l = lossf(model(x), y)
        gs.scale(l).backward()
        gs.step(optimizer)
        gs.update()
