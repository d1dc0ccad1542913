import numpy as np
import torch
from sklearn.metrics import roc_auc_score


class AnomalyRunner:
    def __init__(self, student, teacher, opt, device):
        self.student, self.teacher, self.opt, self.device = student, teacher, opt, device
        self.teacher.eval().requires_grad_(False)

    def _maps(self, x):
        ft, fs = self.teacher(x), self.student(x)
        return [1 - torch.cosine_similarity(a, b) for a, b in zip(ft, fs)]

    def train_epoch(self, dl):
        self.student.train()
        for x, _ in dl:
            loss = sum(m.mean() for m in self._maps(x.to(self.device)))
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()

    def test(self, dl):
        self.student.eval()
        scores, labels = [], []
        with torch.no_grad():
            for x, y in dl:
                maps = self._maps(x.to(self.device))
                s = torch.stack([m.amax((1, 2)) for m in maps]).mean(0)
                scores.append(s.cpu().numpy())
                labels.append(y.numpy())
        return roc_auc_score(np.concatenate(labels), np.concatenate(scores))
