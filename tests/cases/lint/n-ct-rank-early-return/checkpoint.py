import os

import torch
import torch.distributed as dist


class Checkpointer:
    def __init__(self, folder, keep=3):
        self.folder, self.keep = folder, keep
        self.is_main = not dist.is_initialized() or dist.get_rank() == 0

    def save(self, step, model, opt):
        if not self.is_main:
            return
        os.makedirs(self.folder, exist_ok=True)
        module = getattr(model, "module", model)
        torch.save({"step": step, "model": module.state_dict(), "opt": opt.state_dict()}, os.path.join(self.folder, f"{step:07d}.pt"))
        for old in sorted(os.listdir(self.folder))[: -self.keep]:
            os.remove(os.path.join(self.folder, old))
