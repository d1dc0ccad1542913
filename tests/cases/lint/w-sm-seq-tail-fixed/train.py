import torch
from torch import nn, optim

clf = nn.Sequential(
    nn.Flatten(),
    nn.Linear(784, 128),
    nn.ReLU(),
    nn.Linear(128, 10),
)
optimizer = optim.Adam(clf.parameters())
objective = nn.CrossEntropyLoss()


def train(loader, epochs=5):
    for _ in range(epochs):
        for img, digit in loader:
            optimizer.zero_grad()
            loss = objective(clf(img), digit)
            loss.backward()
            optimizer.step()
