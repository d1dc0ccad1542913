import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


class Trainer:
    def __init__(self, net, opt_fn, gpu):
        self.net = FSDP(net, device_id=gpu, use_orig_params=True)
        self.opt = opt_fn(self.net.parameters())
        self.gpu = gpu

    @torch.no_grad()
    def validate(self, dl):
        self.net.eval()
        tot = torch.zeros(2, device=self.gpu)
        for x, y in dl:
            out = self.net(x.to(self.gpu))
            tot[0] += torch.nn.functional.cross_entropy(out, y.to(self.gpu))
            tot[1] += 1
        dist.all_reduce(tot)
        self.net.train()
        return (tot[0] / tot[1]).item()

    def train(self, tr, va):
        self.net.train()
        for i, (x, y) in enumerate(tr):
            loss = torch.nn.functional.cross_entropy(self.net(x.to(self.gpu)), y.to(self.gpu))
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            if i % 1000 == 999:
                print(self.validate(va))
