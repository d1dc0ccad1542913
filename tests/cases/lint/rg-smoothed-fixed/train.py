def pretrain(autoenc, dl, optimizer, beta=0.98):
    smooth = 0.0
    for i, x in enumerate(dl):
        recon, kl = autoenc(x)
        elbo = (recon - x).square().sum() + kl
        optimizer.zero_grad()
        elbo.backward()
        optimizer.step()
        smooth = beta * smooth + (1 - beta) * elbo.item()
        if i % 50 == 0:
            print(f"{i}: {smooth:.4f}")
