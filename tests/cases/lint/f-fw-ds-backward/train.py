import deepspeed


class Pretrainer:
    def __init__(self, lm, conf):
        self.engine, self.opt, _, self.sched = deepspeed.initialize(model=lm, model_parameters=lm.parameters(), config=conf)

    def step(self, ids):
        out = self.engine(input_ids=ids, labels=ids)
        out.loss.backward()
        self.engine.step()
        return out.loss.detach()
