import matplotlib.pyplot as plt
import numpy as np
import torch


def make_data(n=500, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-3, 3, size=(n, 1))
    y = 1.7 * x + 0.4 + rng.normal(scale=0.3, size=(n, 1))
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)


def main(lr=0.05, steps=300):
    torch.manual_seed(0)
    x, y = make_data()
    w = torch.randn(1, 1, requires_grad=True)
    b = torch.zeros(1, requires_grad=True)
    history = []
    for _ in range(steps):
        loss = ((x @ w + b - y) ** 2).mean()
        loss.backward()
        w -= lr * w.grad
        b -= lr * b.grad
        w.grad.zero_()
        b.grad.zero_()
        history.append(loss.item())
    plt.plot(history)
    plt.savefig("loss.png")
    print(w.item(), b.item())


if __name__ == "__main__":
    main()
