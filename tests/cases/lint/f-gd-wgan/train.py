import torch


class WGAN:
    def __init__(self, gen, critic, opt_gen, opt_critic, n_critic=5):
        self.gen, self.critic = gen, critic
        self.opt_gen, self.opt_critic = opt_gen, opt_critic
        self.n_critic = n_critic

    def critic_update(self, x):
        noise = torch.randn(x.shape[0], 100, device=x.device)
        samples = self.gen(noise)
        w = self.critic(samples).mean() - self.critic(x).mean()
        self.opt_critic.zero_grad()
        w.backward()
        self.opt_critic.step()
        return w.item()

    def gen_update(self, n, device):
        self.opt_gen.zero_grad()
        (-self.critic(self.gen(torch.randn(n, 100, device=device))).mean()).backward()
        self.opt_gen.step()
