import torch
from tqdm import tqdm


def train(net, dl, opt, crit, epochs):
    for ep in range(epochs):
        net.train()
        bar = tqdm(dl)
        for i, (x, y) in enumerate(bar):
            x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
            out = net(x)
            loss = crit(out, y)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            hits = (out.argmax(1) == y).float().mean()
            bar.set_postfix(loss=loss.item(), norm=norm.item(), acc=hits.item())
