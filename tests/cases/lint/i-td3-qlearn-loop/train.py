import torch


def qlearn(env, net, opt, gamma, episodes):
    for _ in range(episodes):
        s, done = env.reset(), False
        while not done:
            q = net(torch.tensor(s).float())
            a = int(q.argmax())
            s, r, done = env.step(a)
            target = r + (0.0 if done else gamma * net(torch.tensor(s).float()).max())
            loss = (q[a] - target) ** 2
            opt.zero_grad()
            loss.backward()
            opt.step()
