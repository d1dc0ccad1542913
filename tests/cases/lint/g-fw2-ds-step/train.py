import deepspeed


def main(cmd, gpt, ds):
    model, optim, dl, _ = deepspeed.initialize(args=cmd, model=gpt, model_parameters=gpt.parameters(), training_data=ds)
    for i, b in enumerate(dl):
        out = model(b["ids"].to(model.local_rank))
        model.backward(out.mean())
        optim.step()
        optim.zero_grad()
