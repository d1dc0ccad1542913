class ActorCritic:
    def __init__(self, actor, critic, opt_a, opt_c):
        self.actor, self.critic, self.opt_a, self.opt_c = actor, critic, opt_a, opt_c

    def update(self, obs, act, ret):
        value = self.critic(obs)
        c_loss = (value - ret).pow(2).mean()
        self.opt_c.zero_grad()
        c_loss.backward()
        self.opt_c.step()
        a_loss = -(self.actor.log_prob(obs, act) * (ret - value.detach())).mean()
        a_loss.backward()
        self.opt_a.step()


def learn(agent, buffer, n):
    for _ in range(n):
        agent.update(*buffer.sample())
