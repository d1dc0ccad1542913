def train(enc, dec, eo, do, dl):
    for x in dl:
        eo.zero_grad()
        do.zero_grad()
        loss = (dec(enc(x)) - x).pow(2).mean()
        loss.backward()
        eo.step()
        do.step()
