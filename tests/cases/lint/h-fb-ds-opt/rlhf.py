import deepspeed
import torch


def make_engine(actor, ds_config):
    engine, optim, _, sched = deepspeed.initialize(model=actor, config=ds_config, model_parameters=actor.parameters())
    return engine, optim, sched


def ppo_update(actor, ds_config, rollouts, eps=0.2):
    engine, optim, sched = make_engine(actor, ds_config)
    engine.train()
    for r in rollouts:
        logp = engine(r["ids"]).log_softmax(-1).gather(-1, r["act"].unsqueeze(-1)).squeeze(-1)
        ratio = (logp - r["logp"]).exp()
        loss = -torch.min(ratio * r["adv"], ratio.clamp(1 - eps, 1 + eps) * r["adv"]).mean()
        engine.backward(loss)
        optim.step()
        sched.step()
