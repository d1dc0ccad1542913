from accelerate import Accelerator


def main(cfg, net, opt, dl, sched, loss_of):
    acc = Accelerator(gradient_accumulation_steps=cfg.accum, log_with="tensorboard")
    net, opt, dl, sched = acc.prepare(net, opt, dl, sched)
    for step, b in enumerate(dl):
        with acc.accumulate(net):
            l = loss_of(net, b)
            acc.backward(l)
            if acc.sync_gradients:
                acc.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            sched.step()
            opt.zero_grad()
        if step % 50 == 0:
            acc.log({"loss": l.item(), "per_step": l.item() / cfg.accum}, step=step)
