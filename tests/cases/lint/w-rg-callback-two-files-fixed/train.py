from hooks import Hooks, LossRecorder


def fit(net, loader, opt, crit):
    hooks = Hooks([LossRecorder()])
    for x, y in loader:
        opt.zero_grad()
        loss = crit(net(x), y)
        loss.backward()
        opt.step()
        hooks.call("after_step", loss=loss)
