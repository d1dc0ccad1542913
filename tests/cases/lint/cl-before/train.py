import torch.nn.utils as U


def train(rnn, loader, opt, ce):
    for x, y in loader:
        opt.zero_grad()
        out, _ = rnn(x)
        loss = ce(out.flatten(0, 1), y.flatten())
        U.clip_grad_norm_(rnn.parameters(), 0.25)
        loss.backward()
        opt.step()
