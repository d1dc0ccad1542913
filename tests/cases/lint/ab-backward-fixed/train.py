from accelerate import Accelerator


def main(model, opt, dl):
    accelerator = Accelerator(mixed_precision="fp16")
    model, opt, dl = accelerator.prepare(model, opt, dl)
    for batch in dl:
        loss = model(**batch).loss
        accelerator.backward(loss)
        opt.step()
        opt.zero_grad()
