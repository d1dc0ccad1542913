from lightning.fabric import Fabric


def run(net, opt, loader, crit):
    fabric = Fabric(devices=2, precision="bf16-mixed")
    fabric.launch()
    net, opt = fabric.setup(net, opt)
    loader = fabric.setup_dataloaders(loader)
    for sample, label in loader:
        out = crit(net(sample), label)
        fabric.backward(out)
        opt.step()
