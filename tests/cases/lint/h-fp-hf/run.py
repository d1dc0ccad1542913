import torch
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments


def main():
    tok = AutoTokenizer.from_pretrained("facebook/opt-350m")
    lm = AutoModelForCausalLM.from_pretrained("facebook/opt-350m", torch_dtype=torch.float16)
    ds = load_dataset("imdb", split="train[:1%]")
    ds = ds.map(lambda r: tok(r["text"], truncation=True, max_length=256, padding="max_length"), batched=True)
    ds = ds.map(lambda r: {"labels": r["input_ids"]})
    args = TrainingArguments("out", fp16=True, per_device_train_batch_size=4, learning_rate=1e-5, seed=3)
    Trainer(model=lm, args=args, train_dataset=ds).train()


if __name__ == "__main__":
    main()
