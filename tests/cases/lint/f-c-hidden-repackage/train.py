import torch


def repackage(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage(v) for v in h)


def train(lm, batches, opt, crit, clip, nlayers, width):
    h = lm.init_hidden(20)
    for x, y in batches:
        h = repackage(h)
        opt.zero_grad()
        out, h = lm(x, h)
        crit(out.view(-1, out.size(-1)), y).backward()
        torch.nn.utils.clip_grad_norm_(lm.parameters(), clip)
        opt.step()
