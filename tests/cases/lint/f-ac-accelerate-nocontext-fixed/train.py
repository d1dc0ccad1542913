from accelerate import Accelerator


def finetune(lm, opt, dl, epochs):
    accelerator = Accelerator(gradient_accumulation_steps=16, mixed_precision="bf16")
    lm, opt, dl = accelerator.prepare(lm, opt, dl)
    for _ in range(epochs):
        for batch in dl:
            with accelerator.accumulate(lm):
                loss = lm(**batch).loss
                accelerator.backward(loss)
                opt.step()
                opt.zero_grad()
