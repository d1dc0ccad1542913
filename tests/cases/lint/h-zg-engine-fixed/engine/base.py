import torch


class Engine:
    def __init__(self, network, optimizer, scheduler=None, device="cuda"):
        self.network = network.to(device)
        self.optimizer = optimizer
        self.scheduler = scheduler
        self.device = device
        self.iteration = 0

    def compute(self, batch):
        raise NotImplementedError

    def optimize(self, loss):
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        if self.scheduler is not None:
            self.scheduler.step()
        self.iteration += 1

    def run(self, loader, epochs):
        for _ in range(epochs):
            self.network.train()
            for batch in loader:
                loss = self.compute(batch)
                self.optimize(loss)

    def snapshot(self, path):
        torch.save({"net": self.network.state_dict(), "it": self.iteration}, path)
