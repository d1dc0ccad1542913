import torch


def train_video(convlstm, frames_loader, opt, mse, device):
    state = None
    for frames, target in frames_loader:
        pred, state = convlstm(frames.to(device), state)
        state = tuple(s.detach() for s in state)
        loss = mse(pred, target.to(device))
        opt.zero_grad()
        loss.backward()
        opt.step()
