import lightning as L
import torch
import torch.nn.functional as F


def main(net, loader, epochs=3):
    fabric = L.Fabric(accelerator="cuda", devices=2, precision="16-mixed", strategy="ddp")
    fabric.launch()
    fabric.seed_everything(3)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    net, opt = fabric.setup(net, opt)
    loader = fabric.setup_dataloaders(loader)
    for epoch in range(epochs):
        net.train()
        for ids, y in loader:
            opt.zero_grad()
            loss = F.cross_entropy(net(ids), y)
            loss.backward()
            fabric.clip_gradients(net, opt, max_norm=1.0)
            opt.step()
        fabric.save("ckpt.pt", {"net": net, "opt": opt, "epoch": epoch})
