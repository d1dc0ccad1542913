import deepspeed


def main(net, ds, loss_fn):
    conf = {"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 8, "optimizer": {"type": "AdamW", "params": {"lr": 1e-5}}}
    eng, _, dl, _ = deepspeed.initialize(model=net, model_parameters=net.parameters(), training_data=ds, config=conf)
    for x, y in dl:
        l = loss_fn(eng(x.to(eng.device)), y.to(eng.device))
        eng.backward(l)
        eng.step()
