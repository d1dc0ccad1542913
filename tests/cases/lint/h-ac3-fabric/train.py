from lightning import Fabric


def main(gpt, opt, dl, n):
    fabric = Fabric(devices=2, strategy="ddp")
    fabric.launch()
    gpt, opt = fabric.setup(gpt, opt)
    dl = fabric.setup_dataloaders(dl)
    for i, (x, y) in enumerate(dl):
        syncing = (i + 1) % n == 0
        with fabric.no_backward_sync(gpt, enabled=not syncing):
            loss = gpt(x, y)
            fabric.backward(loss)
        if syncing:
            opt.step()
            opt.zero_grad()
