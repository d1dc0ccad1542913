import evaluate
import torch
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments, set_seed

metric = evaluate.load("accuracy")


def compute_metrics(p):
    preds, labels = p
    preds = preds.argmax(-1)
    labels = labels[:, 1:].reshape(-1)
    preds = preds[:, :-1].reshape(-1)
    mask = labels != -100
    return metric.compute(predictions=preds[mask], references=labels[mask])


def keep_argmax(logits, labels):
    return logits.argmax(dim=-1)


def main():
    set_seed(0)
    tok = AutoTokenizer.from_pretrained("gpt2")
    tok.pad_token = tok.eos_token
    lm = AutoModelForCausalLM.from_pretrained("gpt2", torch_dtype=torch.float32)
    raw = load_dataset("wikitext", "wikitext-2-raw-v1")
    ds = raw.map(lambda b: tok(b["text"], truncation=True, max_length=512), batched=True, remove_columns=["text"])
    args = TrainingArguments("out", per_device_train_batch_size=8, per_device_eval_batch_size=8, eval_strategy="epoch")
    trainer = Trainer(
        model=lm,
        args=args,
        train_dataset=ds["train"],
        eval_dataset=ds["validation"],
        data_collator=DataCollatorForLanguageModeling(tok, mlm=False),
        compute_metrics=compute_metrics,
        preprocess_logits_for_metrics=keep_argmax,
    )
    trainer.train()
    print(trainer.evaluate())


if __name__ == "__main__":
    main()
