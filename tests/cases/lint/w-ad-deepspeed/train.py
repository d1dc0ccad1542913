import deepspeed

config = {"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 8, "bf16": {"enabled": True}}


def main(lm, ds):
    engine, _, loader, _ = deepspeed.initialize(model=lm, model_parameters=lm.parameters(), training_data=ds, config=config)
    for batch in loader:
        loss = engine(batch).loss
        loss = loss / engine.gradient_accumulation_steps()
        engine.backward(loss)
        engine.step()
