import torch


class DenoiserTrainer:
    def __init__(self, denoiser, lr):
        self.denoiser = denoiser
        self.opt = torch.optim.AdamW(denoiser.parameters(), lr=lr)
        self.history = []

    def step(self, noisy, clean):
        self.opt.zero_grad(set_to_none=True)
        err = (self.denoiser(noisy) - clean).abs().mean()
        err.backward()
        self.opt.step()
        self.history.append(err.detach())
        return err.detach()

    def run(self, batches):
        for noisy, clean in batches:
            self.step(noisy, clean)
        return torch.stack(self.history).mean()
