import torch.nn.functional as F


class ScaledLoss:
    def __init__(self, window):
        self.window = window

    def __call__(self, logits, y):
        return F.cross_entropy(logits, y, label_smoothing=0.1) / self.window
