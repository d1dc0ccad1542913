import torch

def evaluate(model, batches, device):
    model.to(device).eval()
    scores = []
    with torch.no_grad():
        for ids, mask in batches:
            ids.to(device)
            mask.to(device)
            scores.append(model(ids, mask).mean())
    return torch.stack(scores)
