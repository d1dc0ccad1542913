def train_xl(model, segments, optimizer, clip):
    mems = None
    for src, tgt in segments:
        optimizer.zero_grad()
        logits, mems = model(src, mems)
        nll = -logits.log_softmax(-1).gather(-1, tgt.unsqueeze(-1)).mean()
        nll.backward()
        optimizer.step()
