import deepspeed
import torch


class DSTrainer:
    def __init__(self, net, cfg):
        self.engine, self.opt, _, self.sched = deepspeed.initialize(
            model=net, model_parameters=[p for p in net.parameters() if p.requires_grad], config=cfg
        )
        self.loss_fn = torch.nn.CrossEntropyLoss()

    def train_batch(self, x, y):
        x, y = x.to(self.engine.local_rank), y.to(self.engine.local_rank)
        loss = self.loss_fn(self.engine(x), y)
        loss.backward()
        self.engine.step()
        return loss.detach()

    def run(self, dl):
        self.engine.train()
        for i, (x, y) in enumerate(dl):
            loss = self.train_batch(x, y)
            if i % 100 == 0 and self.engine.global_rank == 0:
                print(i, loss.item())
