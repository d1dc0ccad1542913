import copy

import torch
import torch.nn.functional as F


def contrast(q_enc, pairs, queue, lr=0.03, m=0.999):
    k_enc = copy.deepcopy(q_enc)
    sgd = torch.optim.SGD(q_enc.parameters(), lr, momentum=0.9)
    for im_q, im_k in pairs:
        q = F.normalize(q_enc(im_q), dim=1)
        k = F.normalize(k_enc(im_k), dim=1)
        pos = (q * k).sum(1, keepdim=True)
        logits = torch.cat([pos, q @ queue], 1) / 0.07
        loss = F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long))
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        with torch.no_grad():
            for a, b in zip(q_enc.parameters(), k_enc.parameters()):
                b.mul_(m).add_(a, alpha=1 - m)
