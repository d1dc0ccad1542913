import torch


def grad_norm(net):
    return torch.stack([p.grad.norm() for p in net.parameters() if p.grad is not None]).norm()


class Native:
    def __init__(self):
        self._scaler = torch.amp.GradScaler("cuda")

    def __call__(self, loss, opt, params=None, clip=None, update=True):
        self._scaler.scale(loss).backward()
        if update:
            if clip is not None:
                assert params is not None
                self._scaler.unscale_(opt)
                norm = torch.nn.utils.clip_grad_norm_(params, clip)
            else:
                norm = None
            self._scaler.step(opt)
            self._scaler.update()
            return norm
        return None


def train(net, dl, opt, loss_fn, accum=2):
    scaler = Native()
    opt.zero_grad()
    for i, (x, y) in enumerate(dl):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(net(x), y) / accum
        done = (i + 1) % accum == 0
        scaler(loss, opt, net.parameters(), 1.0, done)
        if done:
            if i % 500 == 0:
                print(grad_norm(net))
            opt.zero_grad()
