import torch
import torch.nn.functional as F


class Learner:
    def __init__(self, policy, value, pi_opt, v_opt, epochs=4):
        self.policy, self.value = policy, value
        self.pi_opt, self.v_opt = pi_opt, v_opt
        self.epochs = epochs

    def update(self, rollout):
        adv = (rollout.returns - rollout.values).detach()
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        for _ in range(self.epochs):
            dist = self.policy(rollout.obs)
            logp = dist.log_prob(rollout.actions)
            ratio = torch.exp(logp - rollout.logp)
            clipped = ratio.clamp(0.8, 1.2) * adv
            pi_loss = -torch.min(ratio * adv, clipped).mean()
            self.pi_opt.zero_grad()
            pi_loss.backward(retain_graph=True)
            self.pi_opt.step()

            v_loss = F.mse_loss(self.value(rollout.obs).squeeze(-1), rollout.returns)
            self.v_opt.zero_grad()
            v_loss.backward()
            self.v_opt.step()
