import evaluate
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader
from tqdm.auto import tqdm
from transformers import AutoModelForSequenceClassification, default_data_collator, get_scheduler


def main(train_ds, eval_ds, epochs=3):
    accelerator = Accelerator(mixed_precision="fp16")
    set_seed(123)
    model = AutoModelForSequenceClassification.from_pretrained("roberta-base", num_labels=3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
    train_dl = DataLoader(train_ds, shuffle=True, batch_size=32, collate_fn=default_data_collator, num_workers=4, pin_memory=True)
    eval_dl = DataLoader(eval_ds, batch_size=64, collate_fn=default_data_collator, num_workers=4, pin_memory=True)
    model, optimizer, train_dl, eval_dl = accelerator.prepare(model, optimizer, train_dl, eval_dl)
    scheduler = accelerator.prepare(get_scheduler("linear", optimizer, 0, epochs * len(train_dl) * accelerator.num_processes))
    metric = evaluate.load("accuracy")
    bar = tqdm(range(epochs * len(train_dl)), disable=not accelerator.is_local_main_process)
    for epoch in range(epochs):
        model.train()
        for batch in train_dl:
            loss = model(**batch).loss
            loss.backward()
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
            bar.update(1)
        model.eval()
        for batch in eval_dl:
            with torch.no_grad():
                preds = model(**batch).logits.argmax(-1)
            preds, refs = accelerator.gather_for_metrics((preds, batch["labels"]))
            metric.add_batch(predictions=preds, references=refs)
        accelerator.print(epoch, metric.compute())


if __name__ == "__main__":
    from data import load

    main(*load())
