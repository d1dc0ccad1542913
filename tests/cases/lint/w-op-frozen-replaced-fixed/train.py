import torch
import torch.nn as nn
from transformers import AutoModelForCausalLM


def build(name, n_new):
    lm = AutoModelForCausalLM.from_pretrained(name)
    lm.resize_token_embeddings(lm.config.vocab_size + n_new)
    optimizer = torch.optim.AdamW(lm.parameters(), lr=1e-5)
    return lm, optimizer
