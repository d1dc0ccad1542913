from transformers import Trainer, TrainingArguments


class Timed(Trainer):
    def training_step(self, model, inputs, *args, **kwargs):
        loss = super().training_step(model, inputs, *args, **kwargs)
        self.log({"raw": loss.item()})
        return loss


def main(lm, ds):
    Timed(model=lm, args=TrainingArguments("o", gradient_accumulation_steps=4), train_dataset=ds).train()
