import torch

def adapt(model, loader, lr):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    optimizer.zero_grad()
    for images, _ in loader:
        probs = model(images).softmax(1)
        entropy = -(probs * probs.log()).sum(1).mean()
        entropy.backward()
        optimizer.step()
    return model
