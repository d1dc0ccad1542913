import numpy as np
import torch
from sklearn.metrics import roc_auc_score


class Evaluator:
    def __init__(self, model, loader, device):
        self.model = model
        self.loader = loader
        self.device = device

    @torch.no_grad()
    def __call__(self):
        self.model.eval()
        masks, truths = [], []
        for batch in self.loader:
            image = batch["image"].to(self.device, non_blocking=True)
            logits = self.model(image)
            masks.append(torch.sigmoid(logits))
            truths.append(batch["mask"])
        self.model.train()
        scores = torch.cat(masks).cpu().numpy().ravel()
        target = torch.cat(truths).numpy().ravel().astype(np.uint8)
        return {"auc": roc_auc_score(target, scores), "positives": int(target.sum())}
