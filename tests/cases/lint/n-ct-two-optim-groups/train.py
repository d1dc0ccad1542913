import torch.nn.functional as F

from optim import build


def finetune(model, loader, device, epochs=50):
    model.to(device)
    opt = build(model)
    for _ in range(epochs):
        model.train()
        for x, y in loader:
            opt.zero_grad(set_to_none=True)
            F.cross_entropy(model(x.to(device)), y.to(device)).backward()
            opt.step()
