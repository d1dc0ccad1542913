from datasets import load_dataset
from transformers import AutoTokenizer


def load():
    tok = AutoTokenizer.from_pretrained("roberta-base")
    raw = load_dataset("multi_nli")
    enc = raw.map(lambda r: tok(r["premise"], r["hypothesis"], truncation=True, padding="max_length", max_length=128), batched=True)
    enc = enc.rename_column("label", "labels")
    enc.set_format("torch", columns=["input_ids", "attention_mask", "labels"])
    return enc["train"], enc["validation_matched"]
