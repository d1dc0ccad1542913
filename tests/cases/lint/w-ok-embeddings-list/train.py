import torch


@torch.no_grad()
def extract(backbone, loader, device):
    backbone.eval()
    feats, pids = [], []
    for img, pid in loader:
        f = backbone(img.to(device, non_blocking=True))
        feats.append(f)
        pids.extend(pid.tolist())
    return torch.cat(feats).cpu().numpy(), pids
