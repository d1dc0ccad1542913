import torch
import torch.nn.functional as F
from torch.utils.tensorboard import SummaryWriter


class Detector:
    def __init__(self, net, opt, device):
        self.net, self.opt, self.device = net.to(device), opt, device
        self.writer = SummaryWriter()

    def losses(self, out, target):
        return {
            "cls": F.cross_entropy(out["cls"], target["cls"]),
            "box": F.smooth_l1_loss(out["box"], target["box"]),
            "obj": F.binary_cross_entropy_with_logits(out["obj"], target["obj"]),
        }

    def train_epoch(self, loader, epoch):
        self.net.train()
        for i, (img, target) in enumerate(loader):
            img = img.to(self.device, non_blocking=True)
            target = {k: v.to(self.device, non_blocking=True) for k, v in target.items()}
            parts = self.losses(self.net(img), target)
            total = sum(parts.values())
            self.opt.zero_grad(set_to_none=True)
            total.backward()
            self.opt.step()
            step = epoch * len(loader) + i
            for name, value in parts.items():
                self.writer.add_scalar(f"loss/{name}", value.item(), step)
            self.writer.add_scalar("loss/total", total.item(), step)
