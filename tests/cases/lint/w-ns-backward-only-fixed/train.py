import contextlib


def micro_steps(ddp, chunks, opt, crit):
    for i, (x, y) in enumerate(chunks):
        last = i == len(chunks) - 1
        with contextlib.nullcontext() if last else ddp.no_sync():
            loss = crit(ddp(x), y) / len(chunks)
            loss.backward()
    opt.step()
    opt.zero_grad()
