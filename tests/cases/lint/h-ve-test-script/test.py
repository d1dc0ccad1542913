import argparse

import torch
from torchvision.models import mobilenet_v2


def main(loader):
    p = argparse.ArgumentParser()
    p.add_argument("--weights", default="best.pt")
    a = p.parse_args()
    net = mobilenet_v2(num_classes=12)
    net.load_state_dict(torch.load(a.weights, map_location="cpu"))
    net.to("cuda")
    right = torch.zeros((), device="cuda")
    seen = 0
    with torch.no_grad():
        for x, y in loader:
            out = net(x.to("cuda", non_blocking=True))
            right += (out.argmax(1) == y.to("cuda", non_blocking=True)).sum()
            seen += y.numel()
    print(f"{right.item() / seen:.3%}")
