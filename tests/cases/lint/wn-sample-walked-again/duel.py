import torch
import torch.nn.functional as F


def duel(maker, critic, loader, device):
    ours = torch.optim.Adam(maker.parameters(), lr=1e-4)
    theirs = torch.optim.Adam(critic.parameters(), lr=4e-4)
    for real in loader:
        real = real.to(device)
        fake = maker(torch.randn(len(real), 128, device=device))
        ours.zero_grad()
        (-critic(fake).mean()).backward()
        ours.step()
        theirs.zero_grad()
        verdict = critic(fake)
        loss = F.relu(1 - critic(real)).mean() + F.relu(1 + verdict).mean()
        loss.backward()
        theirs.step()
