import torch
import torch.nn.functional as F


def adapt(encoder, clf, dom, loader, enc_opt, clf_opt, dom_opt, lam):
    encoder.train()
    for (xs, ys), (xt, _) in loader:
        z = encoder(torch.cat([xs, xt]).cuda(non_blocking=True))
        zs = z[: len(xs)]
        task = F.cross_entropy(clf(zs), ys.cuda(non_blocking=True))
        enc_opt.zero_grad()
        clf_opt.zero_grad()
        task.backward(retain_graph=True)

        side = torch.cat([torch.ones(len(xs)), torch.zeros(len(xt))]).to(z.device)
        confusion = F.binary_cross_entropy_with_logits(dom(z).squeeze(1), 1 - side)
        (lam * confusion).backward()
        enc_opt.step()
        clf_opt.step()

        dom_opt.zero_grad()
        d = F.binary_cross_entropy_with_logits(dom(z.detach()).squeeze(1), side)
        d.backward()
        dom_opt.step()
