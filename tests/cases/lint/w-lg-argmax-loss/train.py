import torch
import torch.nn as nn


def train(rnn, loader, lr=0.01):
    crit = nn.MSELoss()
    opt = torch.optim.Adam(rnn.parameters(), lr=lr)
    for seq, label in loader:
        scores = rnn(seq)
        pred = scores.argmax(dim=1).float()
        loss = crit(pred, label.float())
        loss.requires_grad_()
        opt.zero_grad()
        loss.backward()
        opt.step()
