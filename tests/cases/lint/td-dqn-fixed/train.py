import torch
import torch.nn.functional as F


def optimise(q, target_q, batch, opt, gamma):
    s, a, r, s2, d = batch
    qsa = q(s).gather(1, a)
    with torch.no_grad():
        nxt = target_q(s2).max(1, keepdim=True)[0]
        y = r + gamma * (1 - d) * nxt
    loss = F.smooth_l1_loss(qsa, y)
    opt.zero_grad()
    loss.backward()
    opt.step()


def build(net_cls):
    q = net_cls()
    target_q = net_cls()
    target_q.load_state_dict(q.state_dict())
    return q, target_q, torch.optim.Adam(q.parameters())


def loop(net_cls, replay):
    q, target_q, opt = build(net_cls)
    for batch in replay:
        optimise(q, target_q, batch, opt, 0.99)
