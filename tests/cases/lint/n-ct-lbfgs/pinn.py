import torch
import torch.nn as nn


class Burgers(nn.Module):
    def __init__(self, width=40, depth=6):
        super().__init__()
        layers = [nn.Linear(2, width), nn.Tanh()]
        for _ in range(depth):
            layers += [nn.Linear(width, width), nn.Tanh()]
        self.net = nn.Sequential(*layers, nn.Linear(width, 1))

    def forward(self, x, t):
        return self.net(torch.cat([x, t], 1))


def residual(net, x, t, nu=0.01 / torch.pi):
    u = net(x, t)
    ones = torch.ones_like(u)
    u_t, u_x = torch.autograd.grad(u, (t, x), ones, create_graph=True)
    (u_xx,) = torch.autograd.grad(u_x, x, ones, create_graph=True)
    return u_t + u * u_x - nu * u_xx


def train(x_f, t_f, x_b, t_b, u_b, outer=200):
    torch.manual_seed(0)
    net = Burgers()
    x_f.requires_grad_(True)
    t_f.requires_grad_(True)
    opt = torch.optim.LBFGS(net.parameters(), lr=1.0, max_iter=20, line_search_fn="strong_wolfe")

    def closure():
        opt.zero_grad()
        loss = residual(net, x_f, t_f).pow(2).mean() + (net(x_b, t_b) - u_b).pow(2).mean()
        loss.backward()
        return loss

    for i in range(outer):
        loss = opt.step(closure)
        if i % 20 == 0:
            print(i, float(loss))
    return net
