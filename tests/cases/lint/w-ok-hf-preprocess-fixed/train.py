import evaluate
import numpy as np
from transformers import AutoModelForMaskedLM, Trainer, TrainingArguments

acc = evaluate.load("accuracy")


def metrics(eval_preds):
    logits, labels = eval_preds
    preds = np.argmax(logits, axis=-1)
    keep = labels != -100
    return acc.compute(predictions=preds[keep], references=labels[keep])


def run(train, dev, collator):
    mlm = AutoModelForMaskedLM.from_pretrained("roberta-base")
    args = TrainingArguments(output_dir="mlm", eval_strategy="epoch", per_device_eval_batch_size=32, seed=3)
    trainer = Trainer(
        model=mlm,
        args=args,
        data_collator=collator,
        train_dataset=train,
        eval_dataset=dev,
        compute_metrics=metrics,
        preprocess_logits_for_metrics=lambda logits, labels: logits.argmax(-1),
    )
    trainer.train()
