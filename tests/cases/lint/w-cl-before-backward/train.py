import torch


def train(seq2seq, pairs, opt, nll, clip):
    for src, trg in pairs:
        opt.zero_grad()
        out = seq2seq(src, trg[:-1])
        loss = nll(out.flatten(0, 1), trg[1:].flatten())
        torch.nn.utils.clip_grad_norm_(seq2seq.parameters(), clip)
        loss.backward()
        opt.step()
