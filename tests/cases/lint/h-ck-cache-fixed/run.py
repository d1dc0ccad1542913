import torch
from transformers import AutoModelForCausalLM


class Run:
    def __init__(self, name):
        self.lm = AutoModelForCausalLM.from_pretrained(name).cuda()
        self.lm.gradient_checkpointing_enable()
        self.lm.config.use_cache = False
        self.opt = torch.optim.AdamW(self.lm.parameters(), 1e-5)

    def step(self, ids, mask):
        out = self.lm(input_ids=ids, attention_mask=mask, labels=ids)
        self.opt.zero_grad()
        out.loss.backward()
        self.opt.step()

    def go(self, dl):
        self.lm.train()
        for ids, mask in dl:
            self.step(ids.cuda(non_blocking=True), mask.cuda(non_blocking=True))
