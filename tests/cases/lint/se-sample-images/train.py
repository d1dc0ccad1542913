import torch
from torchvision.utils import save_image


class GAN:
    def __init__(self, g, d, go, do):
        self.g, self.d, self.go, self.do = g, d, go, do

    def snapshot(self, it):
        self.g.eval()
        with torch.no_grad():
            save_image(self.g(torch.randn(16, 100)), f"{it}.png")

    def train(self, loader, bce):
        self.g.train()
        for it, real in enumerate(loader):
            z = torch.randn(real.size(0), 100)
            self.do.zero_grad()
            fake = self.g(z)
            (bce(self.d(real), torch.ones(real.size(0))) + bce(self.d(fake.detach()), torch.zeros(real.size(0)))).backward()
            self.do.step()
            self.go.zero_grad()
            bce(self.d(fake), torch.ones(real.size(0))).backward()
            self.go.step()
            if it % 500 == 0:
                self.snapshot(it)
