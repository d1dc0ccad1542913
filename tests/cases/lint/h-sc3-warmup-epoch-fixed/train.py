from transformers import get_linear_schedule_with_warmup


def fit(bert, opt, dl, epochs):
    total = len(dl) * epochs
    sched = get_linear_schedule_with_warmup(opt, int(0.1 * total), total)
    for _ in range(epochs):
        for b in dl:
            opt.zero_grad()
            bert(**b).loss.backward()
            opt.step()
            sched.step()
