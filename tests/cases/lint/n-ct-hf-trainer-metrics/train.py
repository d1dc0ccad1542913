import evaluate
import numpy as np
from transformers import AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding, Trainer, TrainingArguments

metric = evaluate.load("f1")


def keep_ids(logits, labels):
    return logits.argmax(dim=-1)


def compute_metrics(pred):
    ids, labels = pred
    return metric.compute(predictions=np.asarray(ids), references=labels, average="macro")


def main(train_ds, eval_ds):
    tok = AutoTokenizer.from_pretrained("microsoft/deberta-v3-base")
    model = AutoModelForSequenceClassification.from_pretrained("microsoft/deberta-v3-base", num_labels=4)
    args = TrainingArguments("out", per_device_train_batch_size=16, num_train_epochs=3, learning_rate=2e-5, bf16=True, eval_strategy="epoch", seed=1, dataloader_num_workers=4)
    trainer = Trainer(
        model=model,
        args=args,
        train_dataset=train_ds,
        eval_dataset=eval_ds,
        data_collator=DataCollatorWithPadding(tok),
        compute_metrics=compute_metrics,
        preprocess_logits_for_metrics=keep_ids,
    )
    trainer.train()
    trainer.save_model()


if __name__ == "__main__":
    from data import load

    main(*load())
