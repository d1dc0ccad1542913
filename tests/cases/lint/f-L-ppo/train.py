import os
import random
import time
from dataclasses import dataclass

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
import tyro
from torch.distributions.normal import Normal
from torch.utils.tensorboard import SummaryWriter


@dataclass
class Config:
    name: str = "ppo"
    seed: int = 1
    deterministic: bool = True
    cuda: bool = True
    env: str = "HalfCheetah-v4"
    total: int = 1_000_000
    lr: float = 3e-4
    n_envs: int = 1
    horizon: int = 2048
    anneal: bool = True
    gamma: float = 0.99
    lam: float = 0.95
    minibatches: int = 32
    passes: int = 10
    norm_adv: bool = True
    clip: float = 0.2
    clip_v: bool = True
    ent: float = 0.0
    vf: float = 0.5
    max_norm: float = 0.5
    target_kl: float | None = None
    save: bool = False


def make(cfg, idx, gamma):
    def thunk():
        e = gym.make(cfg.env)
        e = gym.wrappers.FlattenObservation(e)
        e = gym.wrappers.RecordEpisodeStatistics(e)
        e = gym.wrappers.ClipAction(e)
        e = gym.wrappers.NormalizeObservation(e)
        e = gym.wrappers.NormalizeReward(e, gamma=gamma)
        return e

    return thunk


def ortho(layer, std=np.sqrt(2), bias=0.0):
    torch.nn.init.orthogonal_(layer.weight, std)
    torch.nn.init.constant_(layer.bias, bias)
    return layer


class Agent(nn.Module):
    def __init__(self, envs):
        super().__init__()
        o = int(np.array(envs.single_observation_space.shape).prod())
        a = int(np.prod(envs.single_action_space.shape))
        self.critic = nn.Sequential(ortho(nn.Linear(o, 64)), nn.Tanh(), ortho(nn.Linear(64, 64)), nn.Tanh(), ortho(nn.Linear(64, 1), 1.0))
        self.mean = nn.Sequential(ortho(nn.Linear(o, 64)), nn.Tanh(), ortho(nn.Linear(64, 64)), nn.Tanh(), ortho(nn.Linear(64, a), 0.01))
        self.logstd = nn.Parameter(torch.zeros(1, a))

    def value(self, x):
        return self.critic(x)

    def act(self, x, action=None):
        mu = self.mean(x)
        d = Normal(mu, torch.exp(self.logstd.expand_as(mu)))
        if action is None:
            action = d.sample()
        return action, d.log_prob(action).sum(1), d.entropy().sum(1), self.critic(x)


def main():
    cfg = tyro.cli(Config)
    batch = cfg.n_envs * cfg.horizon
    mb = batch // cfg.minibatches
    iters = cfg.total // batch
    run = f"{cfg.env}__{cfg.name}__{cfg.seed}__{int(time.time())}"
    board = SummaryWriter(f"runs/{run}")
    random.seed(cfg.seed)
    np.random.seed(cfg.seed)
    torch.manual_seed(cfg.seed)
    torch.backends.cudnn.deterministic = cfg.deterministic
    dev = torch.device("cuda" if torch.cuda.is_available() and cfg.cuda else "cpu")
    envs = gym.vector.SyncVectorEnv([make(cfg, i, cfg.gamma) for i in range(cfg.n_envs)])
    agent = Agent(envs).to(dev)
    opt = optim.Adam(agent.parameters(), lr=cfg.lr, eps=1e-5)

    obs = torch.zeros((cfg.horizon, cfg.n_envs) + envs.single_observation_space.shape).to(dev)
    acts = torch.zeros((cfg.horizon, cfg.n_envs) + envs.single_action_space.shape).to(dev)
    logps = torch.zeros((cfg.horizon, cfg.n_envs)).to(dev)
    rews = torch.zeros((cfg.horizon, cfg.n_envs)).to(dev)
    dones = torch.zeros((cfg.horizon, cfg.n_envs)).to(dev)
    vals = torch.zeros((cfg.horizon, cfg.n_envs)).to(dev)

    step, t0 = 0, time.time()
    cur, _ = envs.reset(seed=cfg.seed)
    cur = torch.Tensor(cur).to(dev)
    done = torch.zeros(cfg.n_envs).to(dev)

    for it in range(1, iters + 1):
        if cfg.anneal:
            opt.param_groups[0]["lr"] = (1.0 - (it - 1.0) / iters) * cfg.lr
        for t in range(cfg.horizon):
            step += cfg.n_envs
            obs[t] = cur
            dones[t] = done
            with torch.no_grad():
                action, logp, _, v = agent.act(cur)
                vals[t] = v.flatten()
            acts[t] = action
            logps[t] = logp
            nxt, r, term, trunc, infos = envs.step(action.cpu().numpy())
            done = np.logical_or(term, trunc)
            rews[t] = torch.tensor(r).to(dev).view(-1)
            cur, done = torch.Tensor(nxt).to(dev), torch.Tensor(done).to(dev)
            for info in infos.get("final_info", []):
                if info and "episode" in info:
                    board.add_scalar("charts/return", info["episode"]["r"], step)

        with torch.no_grad():
            last = agent.value(cur).reshape(1, -1)
            adv = torch.zeros_like(rews).to(dev)
            lastgae = 0
            for t in reversed(range(cfg.horizon)):
                if t == cfg.horizon - 1:
                    live, nv = 1.0 - done, last
                else:
                    live, nv = 1.0 - dones[t + 1], vals[t + 1]
                delta = rews[t] + cfg.gamma * nv * live - vals[t]
                adv[t] = lastgae = delta + cfg.gamma * cfg.lam * live * lastgae
            rets = adv + vals

        b_obs = obs.reshape((-1,) + envs.single_observation_space.shape)
        b_logp = logps.reshape(-1)
        b_acts = acts.reshape((-1,) + envs.single_action_space.shape)
        b_adv = adv.reshape(-1)
        b_ret = rets.reshape(-1)
        b_val = vals.reshape(-1)

        idx = np.arange(batch)
        fracs = []
        for _ in range(cfg.passes):
            np.random.shuffle(idx)
            for s in range(0, batch, mb):
                j = idx[s : s + mb]
                _, newlogp, ent, newv = agent.act(b_obs[j], b_acts[j])
                lr = newlogp - b_logp[j]
                ratio = lr.exp()
                with torch.no_grad():
                    old_kl = (-lr).mean()
                    kl = ((ratio - 1) - lr).mean()
                    fracs += [((ratio - 1.0).abs() > cfg.clip).float().mean().item()]
                a = b_adv[j]
                if cfg.norm_adv:
                    a = (a - a.mean()) / (a.std() + 1e-8)
                pg = torch.max(-a * ratio, -a * torch.clamp(ratio, 1 - cfg.clip, 1 + cfg.clip)).mean()
                newv = newv.view(-1)
                if cfg.clip_v:
                    un = (newv - b_ret[j]) ** 2
                    vc = b_val[j] + torch.clamp(newv - b_val[j], -cfg.clip, cfg.clip)
                    vl = 0.5 * torch.max(un, (vc - b_ret[j]) ** 2).mean()
                else:
                    vl = 0.5 * ((newv - b_ret[j]) ** 2).mean()
                el = ent.mean()
                loss = pg - cfg.ent * el + vl * cfg.vf
                opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), cfg.max_norm)
                opt.step()
            if cfg.target_kl is not None and kl > cfg.target_kl:
                break

        yp, yt = b_val.cpu().numpy(), b_ret.cpu().numpy()
        var = np.var(yt)
        board.add_scalar("losses/value", vl.item(), step)
        board.add_scalar("losses/policy", pg.item(), step)
        board.add_scalar("losses/kl", kl.item(), step)
        board.add_scalar("losses/old_kl", old_kl.item(), step)
        board.add_scalar("losses/ev", np.nan if var == 0 else 1 - np.var(yt - yp) / var, step)
        board.add_scalar("charts/sps", int(step / (time.time() - t0)), step)
    if cfg.save:
        torch.save(agent.state_dict(), os.path.join("runs", run, "agent.pt"))
    envs.close()
    board.close()


if __name__ == "__main__":
    main()
