import lightning as L
import torch


def main(ds, net):
    fabric = L.Fabric(accelerator="cuda", devices=1, precision="bf16-mixed")
    fabric.seed_everything(1)
    opt = torch.optim.AdamW(net.parameters(), lr=3e-4)
    net, opt = fabric.setup(net, opt)
    loader = fabric.setup_dataloaders(torch.utils.data.DataLoader(ds, 32, shuffle=True, num_workers=4))
    for epoch in range(10):
        for x, y in loader:
            loss = torch.nn.functional.cross_entropy(net(x), y)
            fabric.backward(loss)
            opt.step()
