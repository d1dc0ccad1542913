import torch
from torch.nn.parallel import DistributedDataParallel as DDP


class Model(torch.nn.Module):
    def __init__(self, body):
        super().__init__()
        self.body = body
        self.tau = torch.nn.Parameter(torch.tensor(0.07))

    def compute_loss(self, a, b):
        return torch.nn.functional.cross_entropy(self.body(a) @ self.body(b).t() / self.tau, torch.arange(len(a), device=a.device))

    def forward(self, x):
        return self.body(x)


def run(body, dl, local):
    model = DDP(Model(body).cuda(local), device_ids=[local])
    opt = torch.optim.AdamW(model.parameters())
    for a, b in dl:
        loss = model.module.compute_loss(a.cuda(local), b.cuda(local))
        opt.zero_grad()
        loss.backward()
        opt.step()
