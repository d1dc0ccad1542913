import torch
import torch.nn.functional as F


@torch.no_grad()
def sample(lm, start, n):
    lm.eval()
    ids = start
    for _ in range(n):
        p = lm(ids[:, -256:])[:, -1].softmax(-1)
        ids = torch.cat([ids, torch.multinomial(p, 1)], 1)
    lm.train()
    return ids


def train(lm, dl, opt, epochs, tok):
    for _ in range(epochs):
        lm.train()
        for i, (x, y) in enumerate(dl):
            logits = lm(x.cuda(non_blocking=True))
            loss = F.cross_entropy(logits.flatten(0, 1), y.cuda(non_blocking=True).flatten())
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            if i % 1000 == 999:
                out = sample(lm, torch.zeros(1, 1, dtype=torch.long, device="cuda"), 200)
                print(tok.decode(out[0].tolist()))
