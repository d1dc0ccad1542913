import itertools

import torch


def step(enc, dec, loss):
    opt = torch.optim.Adam(itertools.chain(enc.parameters(), dec.parameters()))
    opt.zero_grad()
    loss(dec(enc)).backward()
    torch.nn.utils.clip_grad_norm_(itertools.chain(enc.parameters(), dec.parameters()), 5.0)
    opt.step()


def only_rnn(net, opt, x, y, crit):
    opt.zero_grad()
    crit(net(x), y).backward()
    torch.nn.utils.clip_grad_norm_(net.rnn.parameters(), 0.25)
    opt.step()
