class AverageMeter:
    def __init__(self):
        self.sum = 0
        self.count = 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n


def train_epoch(segmenter, loader, optimizer, dice):
    meter = AverageMeter()
    for vol, mask in loader:
        optimizer.zero_grad()
        loss = dice(segmenter(vol.cuda()), mask.cuda())
        loss.backward()
        optimizer.step()
        meter.update(loss, vol.size(0))
    return meter.sum / meter.count
