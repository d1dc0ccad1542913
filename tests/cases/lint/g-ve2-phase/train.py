import torch
from torchvision.models import resnet18


def run(loaders, epochs):
    net = resnet18(num_classes=10)
    opt = torch.optim.SGD(net.parameters(), 0.01)
    crit = torch.nn.CrossEntropyLoss()
    for _ in range(epochs):
        for phase in ["train", "val"]:
            net.train()
            hits = 0
            for x, y in loaders[phase]:
                with torch.set_grad_enabled(phase == "train"):
                    out = net(x)
                    loss = crit(out, y)
                if phase == "train":
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
                hits += (out.argmax(1) == y).sum().item()
            print(phase, hits)
