import torch
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential
from transformers import AutoModelForCausalLM


class LM(nn.Module):
    def __init__(self, v, d, n):
        super().__init__()
        self.emb = nn.Embedding(v, d)
        self.blocks = nn.ModuleList([nn.TransformerEncoderLayer(d, 4, batch_first=True) for _ in range(n)])
        self.out = nn.Linear(d, v)

    def forward(self, ids):
        x = self.emb(ids)
        for b in self.blocks:
            x = checkpoint(b, x, use_reentrant=True) if self.training else b(x)
        return self.out(x)


class Seq(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        self.stem = nn.Linear(d, d)
        self.body = nn.Sequential(*[nn.Sequential(nn.Linear(d, d), nn.ReLU()) for _ in range(n)])

    def forward(self, x):
        return checkpoint_sequential(self.body, 4, self.stem(x), use_reentrant=False)


def qlora(name, dl):
    lm = AutoModelForCausalLM.from_pretrained(name, load_in_4bit=True, use_cache=False)
    lm = prepare_model_for_kbit_training(lm, use_gradient_checkpointing=True)
    lm = get_peft_model(lm, LoraConfig(r=8, target_modules=["q_proj"]))
    lm.train()
    opt = torch.optim.AdamW((p for p in lm.parameters() if p.requires_grad), 2e-4)
    for b in dl:
        loss = lm(**b).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
