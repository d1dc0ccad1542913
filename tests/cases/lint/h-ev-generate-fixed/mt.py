import torch


def greedy(net, src, bos, eos, limit):
    memory = net.encode(src)
    out = torch.full((src.size(0), 1), bos, device=src.device)
    for _ in range(limit):
        nxt = net.decode(out, memory)[:, -1].argmax(-1, keepdim=True)
        out = torch.cat([out, nxt], 1)
        if (nxt == eos).all():
            break
    return out


@torch.no_grad()
def bleu_on(net, dl, vocab, scorer):
    net.eval()
    hyps, refs = [], []
    for src, ref in dl:
        ids = greedy(net, src.cuda(), vocab.bos, vocab.eos, 128)
        hyps += [vocab.decode(i) for i in ids.tolist()]
        refs += ref
    net.train()
    return scorer(hyps, refs)


def fit(net, tr, va, opt, crit, vocab, scorer, epochs):
    for ep in range(epochs):
        net.train()
        for s, t in tr:
            opt.zero_grad()
            crit(net(s.cuda(), t[:, :-1].cuda()).flatten(0, 1), t[:, 1:].cuda().flatten()).backward()
            opt.step()
        print(ep, bleu_on(net, va, vocab, scorer))
