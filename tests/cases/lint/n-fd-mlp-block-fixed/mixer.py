import torch
import torch.nn as nn
import torch.nn.functional as F


class MixerBlock(nn.Module):
    def __init__(self, tokens, dim, p=0.1):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.tok1, self.tok2 = nn.Linear(tokens, tokens * 2), nn.Linear(tokens * 2, tokens)
        self.ch1, self.ch2 = nn.Linear(dim, dim * 4), nn.Linear(dim * 4, dim)
        self.p = p

    def forward(self, x):
        h = self.norm1(x).transpose(1, 2)
        h = self.tok2(F.gelu(self.tok1(h))).transpose(1, 2)
        x = x + h
        h = self.ch2(F.gelu(self.ch1(self.norm2(x))))
        return x + F.dropout(h, p=self.p, training=self.training)


class Mixer(nn.Module):
    def __init__(self, patch=16, image=224, dim=384, depth=8, classes=100):
        super().__init__()
        self.embed = nn.Conv2d(3, dim, patch, patch)
        self.blocks = nn.Sequential(*[MixerBlock((image // patch) ** 2, dim) for _ in range(depth)])
        self.head = nn.Linear(dim, classes)

    def forward(self, img):
        x = self.embed(img).flatten(2).transpose(1, 2)
        return self.head(self.blocks(x).mean(dim=1))


@torch.inference_mode()
def predict(net, img):
    net.eval()
    return net(img).softmax(-1).topk(5)
