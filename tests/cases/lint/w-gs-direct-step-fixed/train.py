import torch


def train(wavenet, loader, optimizer, nll):
    scaler = torch.cuda.amp.GradScaler()
    for wav, mel in loader:
        optimizer.zero_grad()
        with torch.cuda.amp.autocast():
            loss = nll(wavenet(wav, mel), wav)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
