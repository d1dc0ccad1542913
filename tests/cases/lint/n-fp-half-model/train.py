import torch
import torch.nn as nn
from torch.utils.data import DataLoader


def train(net, dataset, epochs=10, lr=1e-4):
    torch.manual_seed(0)
    net = net.cuda().half()
    loader = DataLoader(dataset, batch_size=48, shuffle=True, num_workers=6, pin_memory=True)
    opt = torch.optim.AdamW(net.parameters(), lr=lr)
    scaler = torch.amp.GradScaler("cuda")
    ce = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        net.train()
        for clip, label in loader:
            clip, label = clip.cuda(non_blocking=True), label.cuda(non_blocking=True)
            opt.zero_grad(set_to_none=True)
            with torch.autocast("cuda", dtype=torch.float16):
                loss = ce(net(clip), label)
            scaler.scale(loss).backward()
            scaler.unscale_(opt)
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            scaler.step(opt)
            scaler.update()
        print(epoch, loss.item())
    torch.save(net.state_dict(), "video.pt")
