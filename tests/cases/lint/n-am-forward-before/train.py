import torch
import torch.nn.functional as F
from tqdm import tqdm


def train(net, loader, device, epochs=30, lr=1e-4):
    net.to(device)
    optimizer = torch.optim.AdamW(net.parameters(), lr=lr)
    scaler = torch.cuda.amp.GradScaler()
    for epoch in range(epochs):
        net.train()
        for low, high in tqdm(loader, leave=False):
            low = low.to(device, non_blocking=True)
            high = high.to(device, non_blocking=True)
            optimizer.zero_grad(set_to_none=True)
            restored = net(low)
            with torch.cuda.amp.autocast():
                loss = F.l1_loss(restored, high)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        print(f"epoch {epoch}: l1 {loss.item():.4f}")
        torch.save({"net": net.state_dict(), "scaler": scaler.state_dict()}, "restore.pt")
