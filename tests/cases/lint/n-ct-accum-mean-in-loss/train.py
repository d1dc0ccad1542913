import itertools

import torch
import torch.nn.functional as F


def windows(loader, size):
    it = iter(loader)
    while chunk := list(itertools.islice(it, size)):
        yield chunk


def train(model, loader, opt, sched, device, accum=8, epochs=1):
    model.train()
    for _ in range(epochs):
        for chunk in windows(loader, accum):
            n_tokens = sum(int((b["labels"][:, 1:] != -100).sum()) for b in chunk)
            for batch in chunk:
                batch = {k: v.to(device, non_blocking=True) for k, v in batch.items()}
                labels = batch.pop("labels")
                logits = model(**batch).logits[:, :-1]
                loss = F.cross_entropy(logits.flatten(0, 1), labels[:, 1:].flatten(), ignore_index=-100, reduction="sum") / n_tokens
                loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            opt.zero_grad(set_to_none=True)
