class Algo:
    def __init__(self, actor, critic, oa, oc):
        self.actor, self.critic, self.oa, self.oc = actor, critic, oa, oc

    def update(self, s, a, y):
        self.oc.zero_grad()
        (self.critic(s, a) - y).pow(2).mean().backward()
        self.oc.step()
        self.actor.zero_grad()
        (-self.critic(s, self.actor(s)).mean()).backward()
        self.oa.step()
