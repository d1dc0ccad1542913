import torch


class Loss(torch.nn.Module):
    def __init__(self, prior):
        super().__init__()
        self.prior = prior

    def forward(self, logits, y):
        return torch.nn.functional.cross_entropy(logits + torch.tensor(self.prior).log().to(logits.device), y)


def fit(net, dl, opt, prior):
    crit = Loss(prior)
    for x, y in dl:
        opt.zero_grad()
        crit(net(x.cuda()), y.cuda()).backward()
        opt.step()
