import torch


def train(bart, dl, optimizer, scheduler, accum):
    for i, b in enumerate(dl):
        loss = bart(**b).loss / accum
        loss.backward()
        if (i + 1) % accum == 0:
            torch.nn.utils.clip_grad_norm_(bart.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
