from torch.nn.functional import dropout, gelu, linear


def mlp(x, w1, w2, p):
    return linear(dropout(gelu(linear(x, w1)), p=p), w2)
