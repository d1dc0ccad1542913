import torch


class FlowTrainer:
    def __init__(self, net, args):
        self.net, self.args = net, args
        self.optimizer = torch.optim.AdamW(net.parameters(), lr=args.lr, weight_decay=1e-4)
        self.scaler = torch.cuda.amp.GradScaler(enabled=args.mixed_precision)

    def sequence_loss(self, preds, gt, valid, gamma=0.8):
        total = 0.0
        for i, p in enumerate(preds):
            w = gamma ** (len(preds) - i - 1)
            total = total + w * (valid[:, None] * (p - gt).abs()).mean()
        return total

    def train(self, loader):
        self.net.train()
        for im1, im2, gt, valid in loader:
            self.optimizer.zero_grad()
            with torch.cuda.amp.autocast(enabled=self.args.mixed_precision):
                preds = self.net(im1.cuda(non_blocking=True), im2.cuda(non_blocking=True))
                loss = self.sequence_loss(preds, gt.cuda(non_blocking=True), valid.cuda(non_blocking=True))
            self.scaler.scale(loss).backward()
            self.optimizer.step()
            self.scaler.update()
