import lightning as L


def pretrain(gpt, opt, loader, crit):
    fabric = L.Fabric(precision="16-mixed", devices=4, strategy="ddp")
    fabric.launch()
    gpt, opt = fabric.setup(gpt, opt)
    loader = fabric.setup_dataloaders(loader)
    for tok in loader:
        opt.zero_grad()
        ce = crit(gpt(tok[:, :-1]), tok[:, 1:])
        fabric.backward(ce)
        opt.step()
