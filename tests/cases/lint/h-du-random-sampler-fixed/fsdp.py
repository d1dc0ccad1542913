import os

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.utils.data import DataLoader, DistributedSampler, RandomSampler


class Job:
    def __init__(self, lm, ds, cfg):
        dist.init_process_group("nccl")
        self.dev = int(os.environ["LOCAL_RANK"])
        torch.cuda.set_device(self.dev)
        self.lm = FSDP(lm, device_id=self.dev)
        self.opt = torch.optim.AdamW(self.lm.parameters(), cfg.lr)
        self.sampler = DistributedSampler(ds)
        self.dl = DataLoader(ds, cfg.batch, sampler=self.sampler, num_workers=4, pin_memory=True)
        self.epochs = cfg.epochs

    def run(self):
        for ep in range(self.epochs):
            self.sampler.set_epoch(ep)
            self.lm.train()
            for ids in self.dl:
                ids = ids.to(self.dev, non_blocking=True)
                loss = self.lm(input_ids=ids, labels=ids).loss
                self.opt.zero_grad()
                loss.backward()
                self.lm.clip_grad_norm_(1.0)
                self.opt.step()
