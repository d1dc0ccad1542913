import torch


@torch.no_grad()
def evaluate(policy, env, n):
    policy.eval()
    returns = []
    for _ in range(n):
        s, done, total = env.reset(), False, 0.0
        while not done:
            a = policy(torch.as_tensor(s, dtype=torch.float32)).argmax().item()
            s, r, done, _ = env.step(a)
            total += r
        returns.append(total)
    policy.train()
    return sum(returns) / n
