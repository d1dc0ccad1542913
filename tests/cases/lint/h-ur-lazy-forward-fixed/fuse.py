import torch
from torch import nn
import torch.nn.functional as F


class Fuse(nn.Module):
    def __init__(self, d_img, d_txt, out):
        super().__init__()
        self.img = nn.Linear(d_img, out)
        self.out = out
        self.txt = nn.Linear(d_txt, out)

    def forward(self, img, txt):
        a = self.img(img)
        b = self.txt(txt)
        return F.normalize(a + b, dim=-1)


class Ranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.fuse = Fuse(2048, 768, 256)
        self.score = nn.Linear(256, 1)

    def forward(self, img, txt):
        return self.score(self.fuse(img, txt)).squeeze(-1)
