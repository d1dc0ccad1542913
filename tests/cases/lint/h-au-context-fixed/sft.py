import torch
from accelerate import Accelerator


def sft(lm, data, lr, epochs):
    acc = Accelerator(gradient_accumulation_steps=4, mixed_precision="bf16")
    opt = torch.optim.AdamW(lm.parameters(), lr=lr)
    lm, opt, data = acc.prepare(lm, opt, data)
    lm.train()
    for _ in range(epochs):
        for batch in data:
            with acc.accumulate(lm):
                loss = lm(**batch).loss
                acc.backward(loss)
                opt.step()
                opt.zero_grad()
    return acc.unwrap_model(lm)
