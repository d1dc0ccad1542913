import torch

w = torch.randn(10, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)


def sgd(x, y, lr=0.01, steps=100):
    global w, b
    for _ in range(steps):
        loss = ((x @ w + b) - y).pow(2).mean()
        loss.backward()
        w = w - lr * w.grad
        b = b - lr * b.grad
        w.grad = None  #=>     w.grad = None
        b.grad = None  #=>     b.grad = None
