def train(dit, loader, optim, flow_loss, accum=8):
    for i, (x, c) in enumerate(loader):
        loss = flow_loss(dit, x, c) / accum
        loss.backward()
        if (i + 1) % accum == 0:
            optim.step()
            optim.zero_grad()
