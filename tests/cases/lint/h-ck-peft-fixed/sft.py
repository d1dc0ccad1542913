import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM


def load(name):
    lm = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16)
    lm.config.use_cache = False
    lm = get_peft_model(lm, LoraConfig(r=16, target_modules="all-linear", task_type="CAUSAL_LM"))
    lm.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": True})
    lm.enable_input_require_grads()
    return lm


def train(name, dl):
    lm = load(name).cuda()
    lm.train()
    opt = torch.optim.AdamW([p for p in lm.parameters() if p.requires_grad], lr=2e-4)
    for b in dl:
        loss = lm(**{k: v.cuda(non_blocking=True) for k, v in b.items()}).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
