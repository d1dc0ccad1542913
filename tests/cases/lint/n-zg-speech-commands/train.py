import torch
import torch.nn as nn
import torchaudio
import wandb


class M5(nn.Module):
    def __init__(self, n_classes=35, ch=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(1, ch, 80, stride=16), nn.BatchNorm1d(ch), nn.ReLU(), nn.MaxPool1d(4),
            nn.Conv1d(ch, 2 * ch, 3), nn.BatchNorm1d(2 * ch), nn.ReLU(), nn.AdaptiveAvgPool1d(1),
        )
        self.fc = nn.Linear(2 * ch, n_classes)

    def forward(self, x):
        return self.fc(self.net(x).squeeze(-1))


def train_epoch(model, loader, optimizer, resample, device, epoch):
    model.train()
    for step, (wave, label) in enumerate(loader):
        wave, label = wave.to(device), label.to(device)
        out = model(resample(wave))
        loss = nn.functional.cross_entropy(out, label)
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            wandb.log({"train/loss": loss.item(), "epoch": epoch})


def main(loader, device="cuda", epochs=20):
    torch.manual_seed(11)
    wandb.init(project="speech-commands")
    model = M5().to(device)
    resample = torchaudio.transforms.Resample(16000, 8000).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=10, gamma=0.1)
    for epoch in range(epochs):
        train_epoch(model, loader, optimizer, resample, device, epoch)
        scheduler.step()
