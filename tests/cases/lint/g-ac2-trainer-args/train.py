from accelerate import Accelerator


def loop(cfg, unet, opt, dl, sched):
    accelerator = Accelerator(gradient_accumulation_steps=cfg.train.accum)
    unet, opt, dl, sched = accelerator.prepare(unet, opt, dl, sched)
    for batch in dl:
        with accelerator.accumulate(unet):
            loss = unet(batch) / cfg.train.accum
            accelerator.backward(loss)
            opt.step()
            sched.step()
            opt.zero_grad()
