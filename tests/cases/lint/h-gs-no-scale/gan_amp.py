import torch
import torch.nn.functional as F


def train(G, D, loader, og, od, device):
    scaler_d, scaler_g = torch.cuda.amp.GradScaler(), torch.cuda.amp.GradScaler()
    for real in loader:
        real = real.to(device, non_blocking=True)
        z = torch.randn(real.size(0), 128, device=device)
        with torch.autocast("cuda", dtype=torch.float16):
            fake = G(z)
            d_loss = F.softplus(D(fake.detach())).mean() + F.softplus(-D(real)).mean()
        od.zero_grad()
        scaler_d.scale(d_loss).backward()
        scaler_d.step(od)
        scaler_d.update()

        with torch.autocast("cuda", dtype=torch.float16):
            g_loss = F.softplus(-D(fake)).mean()
        og.zero_grad()
        g_loss.backward()
        scaler_g.step(og)
        scaler_g.update()
