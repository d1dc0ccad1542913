import torch

def train(generator, critic, g_opt, c_opt, data, z_dim):
    for real in data:
        noise = torch.randn(real.size(0), z_dim, device=real.device)
        c_opt.zero_grad()
        c_loss = critic(generator(noise).detach()).mean() - critic(real).mean()
        c_loss.backward()
        c_opt.step()

        noise = torch.randn(real.size(0), z_dim, device=real.device)
        g_opt.zero_grad()
        g_loss = -critic(generator(noise)).mean()
        g_loss.backward()
        g_opt.step()
