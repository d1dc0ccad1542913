from accelerate import Accelerator

acc = Accelerator(mixed_precision="fp16")


def loop(net, opt, dl, crit):
    net, opt, dl = acc.prepare(net, opt, dl)
    for x, y in dl:
        opt.zero_grad()
        loss = crit(net(x), y)
        loss.backward()
        opt.step()
