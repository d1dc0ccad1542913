from lightning.fabric import Fabric


class Trainer:
    def __init__(self, net, opt, dl):
        self.fabric = Fabric(precision="16-mixed")
        self.fabric.launch()
        self.net, self.opt = self.fabric.setup(net, opt)
        self.dl = self.fabric.setup_dataloaders(dl)

    def fit(self):
        self.net.train()
        for x, y in self.dl:
            self.opt.zero_grad()
            loss = (self.net(x) - y).pow(2).mean()
            loss.backward()
            self.opt.step()
