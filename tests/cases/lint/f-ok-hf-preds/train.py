import numpy as np
from transformers import Trainer, TrainingArguments


def compute_metrics(eval_pred):
    logits, labels = eval_pred
    pred = np.argmax(logits, axis=-1)
    mask = labels != -100
    return {"acc": (pred[mask] == labels[mask]).mean()}


def main(lm, train_ds, dev_ds):
    args = TrainingArguments("out", per_device_eval_batch_size=8, eval_strategy="epoch", num_train_epochs=3)
    trainer = Trainer(
        model=lm,
        args=args,
        train_dataset=train_ds,
        eval_dataset=dev_ds,
        compute_metrics=compute_metrics,
    )
    trainer.train()
