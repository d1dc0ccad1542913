import torch


def evaluate_policy(actor, env, episodes):
    actor.eval()
    returns = []
    for _ in range(episodes):
        s, done, total = env.reset(), False, 0.0
        while not done:
            a = actor(torch.as_tensor(s).float().unsqueeze(0))
            s, r, done, _ = env.step(a.argmax(1).item())
            total += r
        returns.append(total)
    actor.train()
    return sum(returns) / episodes


def train(actor, opt, batches, env):
    for obs, adv in batches:
        opt.zero_grad()
        (-actor(obs).log_softmax(-1).amax(-1) * adv).mean().backward()
        opt.step()
    return evaluate_policy(actor, env, 5)
