import torch
from transformers import AutoModelForCausalLM


def train(loader):
    lm = AutoModelForCausalLM.from_pretrained("facebook/opt-1.3b", use_cache=True)
    lm.gradient_checkpointing_enable()
    opt = torch.optim.AdamW(lm.parameters(), lr=1e-5)
    lm.train()
    for batch in loader:
        opt.zero_grad()
        lm(**batch).loss.backward()
        opt.step()
