import torch
from torch import nn


class SegmentLM(nn.Module):
    def __init__(self, vocab, d=256, mem_len=64):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.attn = nn.MultiheadAttention(d, 4, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))
        self.head = nn.Linear(d, vocab)
        self.mem_len = mem_len
        self.mems = None

    def reset(self):
        self.mems = None

    def forward(self, ids):
        h = self.emb(ids)
        ctx = h if self.mems is None else torch.cat([self.mems, h], dim=1)
        self.mems = ctx[:, -self.mem_len :].detach()
        a, _ = self.attn(h, ctx, ctx, need_weights=False)
        return self.head(h + self.ff(h + a))


def train_stream(lm, stream, opt, clip=0.25):
    ce = nn.CrossEntropyLoss()
    lm.train()
    lm.reset()
    for ids, nxt in stream:
        logits = lm(ids.cuda(non_blocking=True))
        loss = ce(logits.flatten(0, 1), nxt.cuda(non_blocking=True).flatten())
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(lm.parameters(), clip)
        opt.step()
