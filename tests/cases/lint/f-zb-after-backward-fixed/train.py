def train_vae(vae, data, optim, beta):
    for x in data:
        rec, mu, logvar = vae(x)
        kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
        elbo = (rec - x).pow(2).flatten(1).sum(1).mean() + beta * kl
        elbo.backward()
        for g in optim.param_groups:
            g["lr"] = g["lr"] * 0.9999
        optim.step()
        optim.zero_grad()
