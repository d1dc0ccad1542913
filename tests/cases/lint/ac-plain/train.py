def finetune(lm, loader, opt, sched, every=8):
    lm.train()
    opt.zero_grad()
    for n, batch in enumerate(loader):
        out = lm(input_ids=batch["ids"], labels=batch["ids"])
        out.loss.backward()
        if (n + 1) % every == 0 or n + 1 == len(loader):
            opt.step()
            sched.step()
            opt.zero_grad()
