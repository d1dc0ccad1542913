import torch
import torch.nn.functional as F


def both(image_net, text_net, loader, rounds):
    rules = {
        "image": torch.optim.AdamW(image_net.parameters(), lr=1e-4),
        "text": torch.optim.AdamW(text_net.parameters(), lr=1e-5),
    }
    for _ in range(rounds):
        for image, text in loader:
            for rule in rules.values():
                rule.zero_grad()
            a, b = F.normalize(image_net(image), dim=-1), F.normalize(text_net(text), dim=-1)
            loss = F.cross_entropy(a @ b.T / 0.07, torch.arange(len(a), device=a.device))
            loss.backward()
            for rule in rules.values():
                rule.step()
