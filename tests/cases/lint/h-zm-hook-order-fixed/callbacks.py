class Callback:
    def before_batch(self, run):
        pass

    def after_backward(self, run):
        pass

    def after_step(self, run):
        pass


class ClearGradients(Callback):
    def after_step(self, run):
        run.optimizer.zero_grad(set_to_none=True)
