import torch
import torch.nn.functional as F


class DiffusionTrainer:
    def __init__(self, unet, schedule, opt, ema_rate=0.9999):
        self.unet, self.schedule, self.opt = unet, schedule, opt
        self.ema_rate = ema_rate
        self.shadow = {n: p.detach().clone() for n, p in unet.named_parameters()}

    def _update_ema(self):
        for n, p in self.unet.named_parameters():
            self.shadow[n] = self.ema_rate * self.shadow[n] + (1.0 - self.ema_rate) * p

    def train_step(self, x0):
        t = torch.randint(0, self.schedule.steps, (x0.size(0),), device=x0.device)
        noise = torch.randn_like(x0)
        xt = self.schedule.q_sample(x0, t, noise)
        loss = F.mse_loss(self.unet(xt, t), noise)
        self.opt.zero_grad(set_to_none=True)
        loss.backward()
        self.opt.step()
        self._update_ema()
        return loss.detach()

    def run(self, batches):
        for i, x0 in enumerate(batches):
            loss = self.train_step(x0.cuda(non_blocking=True))
            if i % 1000 == 0:
                print(i, float(loss))
