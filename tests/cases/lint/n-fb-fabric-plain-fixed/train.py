import lightning as L
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader
from torchmetrics.classification import MulticlassAccuracy


def main(train_ds, val_ds, net, classes, epochs=20):
    fabric = L.Fabric(accelerator="cuda", devices=2, strategy="ddp", precision="16-mixed")
    fabric.launch()
    fabric.seed_everything(100)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    net, optimizer = fabric.setup(net, optimizer)
    train_dl = DataLoader(train_ds, 64, shuffle=True, num_workers=4, pin_memory=True)
    val_dl = DataLoader(val_ds, 64, num_workers=4, pin_memory=True)
    train_dl, val_dl = fabric.setup_dataloaders(train_dl, val_dl)
    accuracy = MulticlassAccuracy(classes).to(fabric.device)
    for epoch in range(epochs):
        net.train()
        for x, y in train_dl:
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y)
            fabric.backward(loss)
            optimizer.step()
        net.eval()
        with torch.no_grad():
            for x, y in val_dl:
                accuracy.update(net(x), y)
        fabric.print(epoch, accuracy.compute())
        accuracy.reset()
        fabric.save("last.ckpt", {"net": net, "optimizer": optimizer, "epoch": epoch})
