import lightning as L
import torch


def run(model, opt, loader):
    fabric = L.Fabric(accelerator="cuda", devices=4, precision="bf16-mixed")
    fabric.launch()
    model, opt = fabric.setup(model, opt)
    loader = fabric.setup_dataloaders(loader)
    for x, y in loader:
        opt.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        fabric.backward(loss)
        opt.step()
