import torch
import torch.nn as nn

mse = nn.MSELoss()


def lsgan(gen, dis, og, od, batches, nz):
    for img in batches:
        n = img.shape[0]
        gen_img = gen(torch.randn(n, nz))
        og.zero_grad()
        loss_g = mse(dis(gen_img), torch.ones(n, 1))
        loss_g.backward(retain_graph=True)
        og.step()
        od.zero_grad()
        loss_d = 0.5 * (mse(dis(img), torch.ones(n, 1)) + mse(dis(gen_img), torch.zeros(n, 1)))
        loss_d.backward()
        od.step()
