from lightning.fabric import Fabric


class FabricTrainer:
    def __init__(self, **kw):
        self.fabric = Fabric(**kw)

    def fit(self, net, opt, loader, crit):
        self.fabric.launch()
        net, opt = self.fabric.setup(net, opt)
        loader = self.fabric.setup_dataloaders(loader)
        for x, y in loader:
            opt.zero_grad()
            loss = crit(net(x), y)
            loss.backward()
            opt.step()
