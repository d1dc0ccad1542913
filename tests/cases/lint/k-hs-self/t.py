class Agent:
    def __init__(self, net, opt):
        self.net, self.opt, self.h = net, opt, None

    def update(self, obs, ret):
        v, h = self.net(obs, self.h)
        self.h = h
        loss = (v - ret).square().mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()

    def train(self, stream):
        self.net.train()
        for obs, ret in stream:
            self.update(obs, ret)
