import deepspeed


def train(args, gpt, params, loader):
    model_engine, optimizer, _, _ = deepspeed.initialize(args=args, model=gpt, model_parameters=params)
    for step, batch in enumerate(loader):
        ids = batch["input_ids"].to(model_engine.local_rank)
        loss = model_engine(ids, labels=ids).loss
        loss.backward()
        model_engine.step()
        if step % 100 == 0:
            print(loss.item())
