import numpy as np
import torch


def embed_corpus(encoder, tokenizer, docs, bs=32):
    encoder.eval()
    vecs = []
    for i in range(0, len(docs), bs):
        enc = tokenizer(docs[i : i + bs], padding=True, truncation=True, return_tensors="pt").to("cuda")
        out = encoder(**enc).last_hidden_state[:, 0]
        vecs.append(out.detach().cpu().numpy())
    return np.concatenate(vecs)
