import torch


def train_lm(rnn, decoder, chunks, opt, ce, bsz):
    hidden = rnn.init_hidden(bsz)
    for src, tgt in chunks:
        opt.zero_grad()
        out, hidden = rnn(src, hidden)
        loss = ce(decoder(out).view(-1, decoder.out_features), tgt)
        loss.backward(retain_graph=True)
        opt.step()
