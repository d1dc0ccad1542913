import torch
import torch.nn.functional as F


def triplet_epoch(net, loader, optimizer, margin, device):
    net.train()
    last = None
    for anchor, positive, negative in loader:
        a, p, n = (net(t.to(device)) for t in (anchor, positive, negative))
        last = F.triplet_margin_loss(a, p, n, margin=margin)
        optimizer.zero_grad()
        last.backward()
        optimizer.step
    return last.item()


def main(net, loader, device, epochs=25, margin=0.3):
    torch.manual_seed(31)
    net.to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-4)
    for epoch in range(epochs):
        print(epoch, triplet_epoch(net, loader, optimizer, margin, device))
    torch.save(net.state_dict(), "embedder.pt")
