import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader


def main(net, train_ds, cfg):
    accelerator = Accelerator(mixed_precision="fp16")
    opt = torch.optim.AdamW(net.parameters(), lr=cfg.lr)
    loader = DataLoader(train_ds, batch_size=cfg.bs, shuffle=True, num_workers=8)
    net, opt, loader = accelerator.prepare(net, opt, loader)
    for epoch in range(cfg.epochs):
        for batch in loader:
            loss = net(batch["pixel_values"].to(accelerator.device)).mean()
            accelerator.backward(loss)
            opt.step()
            opt.zero_grad()
