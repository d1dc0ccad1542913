import contextlib
import dataclasses
import inspect
import json
import math
import os
import time

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP


@dataclasses.dataclass
class ModelConfig:
    vocab: int = 50304
    ctx: int = 1024
    layers: int = 12
    heads: int = 12
    width: int = 768
    dropout: float = 0.1
    bias: bool = False


@dataclasses.dataclass
class RunConfig:
    out: str = "out"
    data: str = "data/owt"
    batch: int = 12
    accum: int = 40
    iters: int = 600_000
    lr: float = 6e-4
    min_lr: float = 6e-5
    warmup: int = 2000
    wd: float = 0.1
    clip: float = 1.0
    eval_every: int = 2000
    eval_iters: int = 200
    log_every: int = 10
    compile: bool = True
    dtype: str = "bfloat16"
    resume: bool = False
    seed: int = 1337


class Norm(nn.Module):
    def __init__(self, d, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))
        self.bias = nn.Parameter(torch.zeros(d)) if bias else None

    def forward(self, x):
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, 1e-5)


class Attention(nn.Module):
    def __init__(self, c: ModelConfig):
        super().__init__()
        assert c.width % c.heads == 0
        self.qkv = nn.Linear(c.width, 3 * c.width, bias=c.bias)
        self.proj = nn.Linear(c.width, c.width, bias=c.bias)
        self.drop = nn.Dropout(c.dropout)
        self.attn_drop = nn.Dropout(c.dropout)
        self.heads, self.p = c.heads, c.dropout
        self.flash = hasattr(F, "scaled_dot_product_attention")
        if not self.flash:
            self.register_buffer("mask", torch.tril(torch.ones(c.ctx, c.ctx)).view(1, 1, c.ctx, c.ctx))

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.qkv(x).split(C, dim=2)
        q, k, v = (t.view(B, T, self.heads, C // self.heads).transpose(1, 2) for t in (q, k, v))
        if self.flash:
            y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.p if self.training else 0, is_causal=True)
        else:
            att = (q @ k.transpose(-2, -1)) / math.sqrt(k.size(-1))
            att = att.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf"))
            y = self.attn_drop(F.softmax(att, dim=-1)) @ v
        return self.drop(self.proj(y.transpose(1, 2).contiguous().view(B, T, C)))


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.n1, self.n2 = Norm(c.width, c.bias), Norm(c.width, c.bias)
        self.attn = Attention(c)
        self.mlp = nn.Sequential(nn.Linear(c.width, 4 * c.width, bias=c.bias), nn.GELU(), nn.Linear(4 * c.width, c.width, bias=c.bias), nn.Dropout(c.dropout))

    def forward(self, x):
        x = x + self.attn(self.n1(x))
        return x + self.mlp(self.n2(x))


class LM(nn.Module):
    def __init__(self, c: ModelConfig):
        super().__init__()
        self.c = c
        self.tok, self.pos = nn.Embedding(c.vocab, c.width), nn.Embedding(c.ctx, c.width)
        self.drop = nn.Dropout(c.dropout)
        self.blocks = nn.ModuleList([Block(c) for _ in range(c.layers)])
        self.norm = Norm(c.width, c.bias)
        self.head = nn.Linear(c.width, c.vocab, bias=False)
        self.tok.weight = self.head.weight
        self.apply(self._init)
        for n, p in self.named_parameters():
            if n.endswith("proj.weight"):
                nn.init.normal_(p, mean=0.0, std=0.02 / math.sqrt(2 * c.layers))

    def _init(self, m):
        if isinstance(m, nn.Linear):
            nn.init.normal_(m.weight, mean=0.0, std=0.02)
            if m.bias is not None:
                nn.init.zeros_(m.bias)
        elif isinstance(m, nn.Embedding):
            nn.init.normal_(m.weight, mean=0.0, std=0.02)

    def forward(self, idx, targets=None):
        pos = torch.arange(idx.size(1), dtype=torch.long, device=idx.device)
        x = self.drop(self.tok(idx) + self.pos(pos))
        for b in self.blocks:
            x = b(x)
        x = self.norm(x)
        if targets is None:
            return self.head(x[:, [-1], :]), None
        logits = self.head(x)
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)

    def optimizer(self, wd, lr, device_type):
        ps = [p for p in self.parameters() if p.requires_grad]
        groups = [{"params": [p for p in ps if p.dim() >= 2], "weight_decay": wd}, {"params": [p for p in ps if p.dim() < 2], "weight_decay": 0.0}]
        fused = "fused" in inspect.signature(torch.optim.AdamW).parameters and device_type == "cuda"
        return torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.95), **({"fused": True} if fused else {}))

    @torch.no_grad()
    def generate(self, idx, n, temperature=1.0, k=None):
        for _ in range(n):
            logits, _ = self(idx[:, -self.c.ctx :])
            logits = logits[:, -1, :] / temperature
            if k is not None:
                v, _ = torch.topk(logits, min(k, logits.size(-1)))
                logits[logits < v[:, [-1]]] = -float("Inf")
            idx = torch.cat((idx, torch.multinomial(F.softmax(logits, dim=-1), 1)), dim=1)
        return idx


class Data:
    def __init__(self, folder, batch, ctx, device):
        self.folder, self.batch, self.ctx, self.device = folder, batch, ctx, device

    def get(self, split):
        arr = np.memmap(os.path.join(self.folder, f"{split}.bin"), dtype=np.uint16, mode="r")
        ix = torch.randint(len(arr) - self.ctx, (self.batch,))
        x = torch.stack([torch.from_numpy(arr[i : i + self.ctx].astype(np.int64)) for i in ix])
        y = torch.stack([torch.from_numpy(arr[i + 1 : i + 1 + self.ctx].astype(np.int64)) for i in ix])
        if self.device.type == "cuda":
            return x.pin_memory().to(self.device, non_blocking=True), y.pin_memory().to(self.device, non_blocking=True)
        return x.to(self.device), y.to(self.device)


def lr_at(it, c: RunConfig):
    if it < c.warmup:
        return c.lr * (it + 1) / (c.warmup + 1)
    if it > c.iters:
        return c.min_lr
    r = (it - c.warmup) / (c.iters - c.warmup)
    return c.min_lr + 0.5 * (1.0 + math.cos(math.pi * r)) * (c.lr - c.min_lr)


def main(c: RunConfig, mc: ModelConfig):
    ddp = int(os.environ.get("RANK", -1)) != -1
    if ddp:
        dist.init_process_group(backend="nccl")
        rank, local, world = (int(os.environ[k]) for k in ("RANK", "LOCAL_RANK", "WORLD_SIZE"))
        device = torch.device(f"cuda:{local}")
        torch.cuda.set_device(device)
        master, offset = rank == 0, rank
        assert c.accum % world == 0
        accum = c.accum // world
    else:
        master, offset, world, accum = True, 0, 1, c.accum
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if master:
        os.makedirs(c.out, exist_ok=True)
    torch.manual_seed(c.seed + offset)
    torch.backends.cuda.matmul.allow_tf32 = True
    dtype = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}[c.dtype]
    ctx = contextlib.nullcontext() if device.type == "cpu" else torch.amp.autocast(device_type=device.type, dtype=dtype)
    data = Data(c.data, c.batch, mc.ctx, device)
    start, best = 0, 1e9
    model = LM(mc)
    ck = None
    if c.resume:
        ck = torch.load(os.path.join(c.out, "ckpt.pt"), map_location=device)
        state = ck["model"]
        for k in list(state):
            if k.startswith("_orig_mod."):
                state[k[len("_orig_mod.") :]] = state.pop(k)
        model.load_state_dict(state)
        start, best = ck["iter"], ck["best"]
    model.to(device)
    scaler = torch.amp.GradScaler("cuda", enabled=c.dtype == "float16")
    opt = model.optimizer(c.wd, c.lr, device.type)
    if ck is not None:
        opt.load_state_dict(ck["opt"])
    ck = None
    if c.compile:
        model = torch.compile(model)
    if ddp:
        model = DDP(model, device_ids=[local])
    raw = model.module if ddp else model

    @torch.no_grad()
    def estimate():
        out = {}
        model.eval()
        for split in ("train", "val"):
            losses = torch.zeros(c.eval_iters)
            for k in range(c.eval_iters):
                x, y = data.get(split)
                with ctx:
                    _, l = model(x, y)
                losses[k] = l.item()
            out[split] = losses.mean()
        model.train()
        return out

    x, y = data.get("train")
    t0 = time.time()
    for it in range(start, c.iters):
        for g in opt.param_groups:
            g["lr"] = lr_at(it, c)
        if it % c.eval_every == 0 and master:
            e = estimate()
            print(json.dumps({"iter": it, "train": float(e["train"]), "val": float(e["val"])}))
            if e["val"] < best and it > 0:
                best = e["val"]
                torch.save({"model": raw.state_dict(), "opt": opt.state_dict(), "iter": it, "best": best}, os.path.join(c.out, "ckpt.pt"))
        for micro in range(accum):
            if ddp:
                model.require_backward_grad_sync = micro == accum - 1
            with ctx:
                _, loss = model(x, y)
                loss = loss / accum
            x, y = data.get("train")
            scaler.scale(loss).backward()
        if c.clip != 0.0:
            scaler.unscale_(opt)
            torch.nn.utils.clip_grad_norm_(model.parameters(), c.clip)
        scaler.step(opt)
        scaler.update()
        opt.zero_grad(set_to_none=True)
        dt, t0 = time.time() - t0, time.time()
        if it % c.log_every == 0 and master:
            print(f"{it}: {loss.item() * accum:.4f} {dt * 1000:.1f}ms")
    if ddp:
        dist.destroy_process_group()


if __name__ == "__main__":
    main(RunConfig(), ModelConfig())
