def train(rnn, seqs, opt, mse):
    for seq in seqs:
        h, loss = None, 0
        opt.zero_grad()
        for t in range(len(seq) - 1):
            y, h = rnn(seq[t], h)
            loss = loss + mse(y, seq[t + 1])
        loss.backward()
        opt.step()
