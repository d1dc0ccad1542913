from collections import defaultdict


class RunningAverage:
    def __init__(self):
        self.reset()

    def reset(self):
        self.sum = 0.0
        self.count = 0

    def update(self, value, n=1):
        self.sum = self.sum + value * n
        self.count += n

    @property
    def avg(self):
        return self.sum / max(self.count, 1)


class MeterBank:
    def __init__(self):
        self._meters = defaultdict(RunningAverage)

    def log(self, n=1, **values):
        for key, v in values.items():
            self._meters[key].update(v, n)

    def summary(self):
        return {k: float(m.avg) for k, m in self._meters.items()}
