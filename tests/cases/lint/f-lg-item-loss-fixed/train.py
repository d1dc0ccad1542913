import torch


def train_kge(kge, triples, opt, margin):
    for pos, neg in triples:
        opt.zero_grad()
        gap = margin + kge.score(pos) - kge.score(neg)
        hinge = torch.relu(gap).mean()
        hinge.backward()
        opt.step()
