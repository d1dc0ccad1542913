import torch
from transformers import AutoModelForCausalLM


def main(name, dl):
    lm = AutoModelForCausalLM.from_pretrained(name).cuda()
    lm.gradient_checkpointing_enable()
    lm.train()
    opt = torch.optim.AdamW(lm.parameters(), lr=1e-5)
    for b in dl:
        out = lm(input_ids=b["ids"].cuda(), labels=b["ids"].cuda(), use_cache=True)
        out.loss.backward()
        opt.step()
        opt.zero_grad()
