import torch


def param_groups(model, base_lr, weight_decay, layer_decay=0.8):
    groups = {}
    depth = len(model.blocks)
    for name, p in model.named_parameters():
        if not p.requires_grad:
            continue
        if name.startswith("blocks."):
            level = int(name.split(".")[1]) + 1
        elif name.startswith("head"):
            level = depth + 1
        else:
            level = 0
        decay = 0.0 if p.ndim == 1 or name.endswith("bias") else weight_decay
        key = (level, decay)
        if key not in groups:
            groups[key] = {"params": [], "lr": base_lr * layer_decay ** (depth + 1 - level), "weight_decay": decay}
        groups[key]["params"].append(p)
    return list(groups.values())


def build(model, base_lr=1e-3, weight_decay=0.05):
    return torch.optim.AdamW(param_groups(model, base_lr, weight_decay), lr=base_lr)
