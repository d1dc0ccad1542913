def train(rnn, head, opt, seqs, crit):
    for seq, tgt in seqs:
        h, loss = None, 0.0
        for x, y in zip(seq, tgt):
            out, h = rnn(x, h)
            loss = loss + crit(head(out), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
