def fit(model, dl, optim, crit):
    for xb, yb in dl:
        optim.zero_grad()
        loss = crit(model(xb), yb)
        loss.backward()
        optim.step()
