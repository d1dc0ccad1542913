import torch.nn.functional as F

from engine.base import Engine


class PoseEngine(Engine):
    def compute(self, batch):
        image, heat, vis = (t.to(self.device, non_blocking=True) for t in batch)
        guess = self.network(image)
        per_joint = F.mse_loss(guess, heat, reduction="none").mean((2, 3))
        return (per_joint * vis).sum() / vis.sum().clamp(min=1)
