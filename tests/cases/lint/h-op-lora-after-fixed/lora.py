import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM


def build(name, lr):
    lm = AutoModelForCausalLM.from_pretrained(name)
    lm = get_peft_model(lm, LoraConfig(r=8, lora_alpha=16, target_modules=["q_proj", "v_proj"]))
    opt = torch.optim.AdamW([p for p in lm.parameters() if p.requires_grad], lr=lr)
    return lm.cuda(), opt


def train(name, dl, lr=1e-4):
    lm, opt = build(name, lr)
    lm.train()
    for batch in dl:
        batch = {k: v.cuda(non_blocking=True) for k, v in batch.items()}
        loss = lm(**batch).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
    lm.save_pretrained("adapter")
