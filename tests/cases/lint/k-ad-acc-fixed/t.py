from accelerate import Accelerator


def main(net, opt, dl):
    acc = Accelerator(gradient_accumulation_steps=4)
    net, opt, dl = acc.prepare(net, opt, dl)
    for b in dl:
        with acc.accumulate(net):
            loss = net(**b).loss
            acc.backward(loss)
            opt.step()
            opt.zero_grad()
