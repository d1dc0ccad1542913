import time

import torch


def train(net, dl, opt, crit, every=100):
    net.train()
    tot = torch.zeros((), device="cuda")
    for i, (x, y) in enumerate(dl, 1):
        loss = crit(net(x.cuda(non_blocking=True)), y.cuda(non_blocking=True))
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.detach()
        if not i % every:
            print(i, tot.item() / every)
            tot.zero_()
        if i % 1000 == 0:
            torch.cuda.empty_cache()
    torch.cuda.synchronize()


def bench(net, x, n=100):
    net.eval()
    times = []
    with torch.inference_mode():
        for _ in range(n):
            torch.cuda.synchronize()
            t = time.perf_counter()
            net(x)
            torch.cuda.synchronize()
            times.append(time.perf_counter() - t)
    return sorted(times)[n // 2]


def act(policy, env, steps):
    obs = env.reset()
    for _ in range(steps):
        with torch.no_grad():
            a = policy(torch.as_tensor(obs)[None]).argmax(-1).item()
        obs, _, done, _ = env.step(a)
        if done:
            obs = env.reset()
