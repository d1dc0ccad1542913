import functools

import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy


def main(lm, train_dl, val_dl):
    lm = FSDP(lm, auto_wrap_policy=functools.partial(size_based_auto_wrap_policy, min_num_params=10**7))
    opt = torch.optim.AdamW(lm.parameters(), 1e-5)
    for step, b in enumerate(train_dl):
        opt.zero_grad()
        lm(**b).loss.backward()
        opt.step()
        if step % 500 == 0:
            lm.eval()
            with torch.inference_mode():
                v = sum(lm(**vb).loss for vb in val_dl)
            lm.train()
