import torch


def sinkhorn(scores, n=3):
    q = torch.exp(scores / 0.05).t()
    q /= q.sum()
    for _ in range(n):
        q /= q.sum(1, keepdim=True)
        q /= q.sum(0, keepdim=True)
    return q.t()


def seq_first_attention(q, k, v):
    s = torch.einsum("qbd,kbd->kqb", q, k)
    w = torch.softmax(s, dim=0)
    return torch.einsum("kqb,kbd->qbd", w, v)
