import evaluate
from transformers import AutoModelForSeq2SeqLM, Seq2SeqTrainer, Seq2SeqTrainingArguments

bleu = evaluate.load("sacrebleu")


def metrics(p):
    return bleu.compute(predictions=p.predictions.argmax(-1), references=p.label_ids)


def run(tr, dev, tok):
    t5 = AutoModelForSeq2SeqLM.from_pretrained("t5-base")
    cfg = Seq2SeqTrainingArguments("out", eval_strategy="epoch", per_device_eval_batch_size=16, eval_accumulation_steps=4)
    Seq2SeqTrainer(model=t5, args=cfg, train_dataset=tr, eval_dataset=dev, compute_metrics=metrics).train()
