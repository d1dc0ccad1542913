def train(gen, dis, og, od, data, noise):
    for x in data:
        od.zero_grad()
        d = dis(gen(noise(len(x))).detach()).mean() - dis(x).mean()
        d.backward()
        od.step()
        g = -dis(gen(noise(len(x)))).mean()
        og.zero_grad()
        g.backward()
        og.step()
