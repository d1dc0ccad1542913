from copy import deepcopy


class Avg:
    def __init__(self, model, beta):
        self.beta = beta
        self.w = {k: deepcopy(v) for k, v in model.named_parameters()}

    def update(self, model):
        for k, v in model.named_parameters():
            self.w[k] = self.beta * self.w[k].data + (1 - self.beta) * v.data


def fit(m, o, dl, crit):
    avg = Avg(m, 0.99)
    for x, y in dl:
        o.zero_grad()
        crit(m(x), y).backward()
        o.step()
        avg.update(m)
