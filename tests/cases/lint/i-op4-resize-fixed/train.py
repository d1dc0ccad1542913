import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def main(name, dl):
    tok = AutoTokenizer.from_pretrained(name)
    lm = AutoModelForCausalLM.from_pretrained(name)
    tok.add_special_tokens({"pad_token": "<pad>"})
    lm.resize_token_embeddings(len(tok))
    lm.cuda().train()
    opt = torch.optim.AdamW(lm.parameters(), lr=5e-5)
    for b in dl:
        opt.zero_grad()
        lm(**b).loss.backward()
        opt.step()
