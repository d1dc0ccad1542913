def search(model, loader, optim, loss_fn):
    history = {"loss": [], "acc": []}
    for x, y in loader:
        out = model(x)
        loss = loss_fn(out, y)
        optim.zero_grad(set_to_none=True)
        loss.backward()
        optim.step()
        history["loss"] += [loss]
        history["acc"].append((out.argmax(-1) == y).float().mean().item())
    return history
