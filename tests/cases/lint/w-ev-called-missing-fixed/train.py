import torch


@torch.no_grad()
def validate(tagger, batches, f1):
    tagger.eval()
    golds, preds = [], []
    for words, tags in batches:
        preds += tagger(words).argmax(-1).tolist()
        golds += tags.tolist()
    return f1(golds, preds)
