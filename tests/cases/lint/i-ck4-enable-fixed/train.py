import torch
from transformers import AutoConfig, AutoModelForCausalLM


def main(name, dl):
    cfg = AutoConfig.from_pretrained(name)
    cfg.use_cache = False
    lm = AutoModelForCausalLM.from_pretrained(name, config=cfg).cuda().train()
    lm.gradient_checkpointing_enable()
    opt = torch.optim.AdamW(lm.parameters(), 1e-5)
    for b in dl:
        lm(**b).loss.backward()
        opt.step()
        opt.zero_grad()
