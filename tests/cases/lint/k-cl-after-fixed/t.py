from torch.nn.utils import clip_grad_norm_


def fit(rnn, dl, opt, crit):
    for x, y in dl:
        opt.zero_grad()
        crit(rnn(x), y).backward()
        clip_grad_norm_(rnn.parameters(), 0.25)
        opt.step()
