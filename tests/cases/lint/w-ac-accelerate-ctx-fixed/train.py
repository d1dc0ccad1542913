from accelerate import Accelerator


def main(model, opt, loader, sched):
    accelerator = Accelerator()
    model, opt, loader, sched = accelerator.prepare(model, opt, loader, sched)
    for batch in loader:
        loss = model(**batch).loss
        accelerator.backward(loss)
        opt.step()
        sched.step()
        opt.zero_grad()
