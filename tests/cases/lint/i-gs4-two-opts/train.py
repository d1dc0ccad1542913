import torch


def adv(gen, dis, og, od, data, z):
    scaler = torch.amp.GradScaler("cuda")
    for x in data:
        with torch.autocast("cuda"):
            d = dis(gen(z(len(x))).detach()).mean() - dis(x).mean()
        od.zero_grad()
        scaler.scale(d).backward()
        scaler.step(od)
        with torch.autocast("cuda"):
            g = -dis(gen(z(len(x)))).mean()
        og.zero_grad()
        scaler.scale(g).backward()
        og.step()
        scaler.update()
