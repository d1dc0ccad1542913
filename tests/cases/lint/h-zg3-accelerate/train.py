from accelerate import Accelerator


def run(net, opt, dl, sched):
    acc = Accelerator(mixed_precision="bf16")
    net, opt, dl, sched = acc.prepare(net, opt, dl, sched)
    net.train()
    for b in dl:
        loss = net(**b).loss
        acc.backward(loss)
        acc.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        sched.step()
