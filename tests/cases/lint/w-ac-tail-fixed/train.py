def train_epoch(net, loader, optimizer, criterion, accum_iter):
    net.train()
    optimizer.zero_grad()
    for batch_idx, (inputs, labels) in enumerate(loader):
        preds = net(inputs.cuda(non_blocking=True))
        loss = criterion(preds, labels.cuda(non_blocking=True))
        loss = loss / accum_iter
        loss.backward()
        if ((batch_idx + 1) % accum_iter == 0) or (batch_idx + 1 == len(loader)):
            optimizer.step()
            optimizer.zero_grad()
