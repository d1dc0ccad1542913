from transformers import Trainer, TrainingArguments


class MyTrainer(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        model.train()
        inputs = self._prepare_inputs(inputs)
        with self.compute_loss_context_manager():
            loss = self.compute_loss(model, inputs)
        loss = loss / self.args.gradient_accumulation_steps
        self.accelerator.backward(loss)
        return loss.detach()


def main(lm, ds):
    args = TrainingArguments("o", gradient_accumulation_steps=8, bf16=True)
    MyTrainer(model=lm, args=args, train_dataset=ds).train()
