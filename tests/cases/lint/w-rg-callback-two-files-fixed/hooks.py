class LossRecorder:
    def __init__(self):
        self.values = []

    def after_step(self, state):
        self.values.append(state["loss"].item())


class Hooks:
    def __init__(self, hooks):
        self.hooks = hooks

    def call(self, name, **state):
        for h in self.hooks:
            getattr(h, name)(state)
