import torch


def train_kge(kge, triples, opt, margin):
    for pos, neg in triples:
        opt.zero_grad()
        gap = margin + kge.score(pos) - kge.score(neg)
        hinge = torch.tensor(torch.relu(gap).mean().item(), requires_grad=True)
        hinge.backward()
        opt.step()
