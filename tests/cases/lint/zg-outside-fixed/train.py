import torch

def adapt(model, loader, lr):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for images, _ in loader:
        optimizer.zero_grad()
        probs = model(images).log_softmax(1)
        entropy = -(probs.exp() * probs).sum(1).mean()
        entropy.backward()
        optimizer.step()
    return model
