import torch


class PPO:
    def __init__(self, policy, lr, clip):
        self.policy, self.clip = policy, clip
        self.optimizer = torch.optim.Adam(policy.parameters(), lr=lr)

    def update(self, rollouts):
        adv = rollouts.returns - rollouts.values
        adv = (adv - adv.mean()) / (adv.std() + 1e-5)
        for _ in range(4):
            for obs, act, old_logp, a in rollouts.batches(adv):
                ratio = torch.exp(self.policy.log_prob(obs, act) - old_logp)
                surr = torch.min(ratio * a, ratio.clamp(1 - self.clip, 1 + self.clip) * a)
                loss = -surr.mean()
                self.optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(self.policy.parameters(), 0.5)
                self.optimizer.step()
