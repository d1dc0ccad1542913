def fit(m, o, dl, crit, heads):
    tot, hist = 0.0, []
    for x, y in dl:
        outs = [h(m(x)) for h in heads]
        ls = {i: crit(z, y) for i, z in enumerate(outs)}
        o.zero_grad()
        sum(ls.values()).backward()
        o.step()
        tot += sum(v.item() for v in ls.values())
        hist.append({k: float(v) for k, v in ls.items()})
    return tot, hist
