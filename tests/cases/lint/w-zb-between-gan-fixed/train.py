def train_pix2pix(gen, disc, opt_g, opt_d, loader, bce, l1):
    for src, tgt in loader:
        out = gen(src)
        d_loss = bce(disc(src, tgt), True) + bce(disc(src, out.detach()), False)
        opt_d.zero_grad()
        d_loss.backward()
        opt_d.step()
        g_loss = bce(disc(src, out), True) + 100 * l1(out, tgt)
        opt_g.zero_grad()
        g_loss.backward()
        opt_g.step()
