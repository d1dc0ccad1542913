import deepspeed
import torch.nn.functional as F

CONFIG = {
    "train_micro_batch_size_per_gpu": 4,
    "gradient_accumulation_steps": 8,
    "bf16": {"enabled": True},
    "zero_optimization": {"stage": 2},
    "optimizer": {"type": "AdamW", "params": {"lr": 1e-5}},
}


def main(net, loader):
    engine, _, _, _ = deepspeed.initialize(model=net, model_parameters=net.parameters(), config=CONFIG)
    engine.train()
    for ids, labels in loader:
        ids, labels = ids.to(engine.device), labels.to(engine.device)
        logits = engine(ids)
        loss = F.cross_entropy(logits.view(-1, logits.size(-1)), labels.view(-1))
        loss = loss / CONFIG["gradient_accumulation_steps"]
        engine.backward(loss)
        engine.step()
