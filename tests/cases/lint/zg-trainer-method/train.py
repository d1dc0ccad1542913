class Trainer:
    def __init__(self, model, opt, sched):
        self.model, self.opt, self.sched = model, opt, sched

    def step(self, batch):
        loss = self.model(**batch).loss
        loss.backward()
        self.opt.step()
        self.sched.step()
        return loss.item()

    def fit(self, loader, epochs):
        self.model.train()
        for _ in range(epochs):
            for batch in loader:
                self.step(batch)
