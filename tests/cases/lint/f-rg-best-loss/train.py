import torch


def tune(prompt_encoder, batches, adam, objective):
    smooth = None
    for tokens, labels in batches:
        adam.zero_grad()
        cur = objective(prompt_encoder(tokens), labels)
        cur.backward()
        adam.step()
        if smooth is None:
            smooth = cur
        else:
            smooth = 0.9 * smooth + 0.1 * cur
    return smooth
