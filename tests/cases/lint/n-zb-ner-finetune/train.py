import torch
from torch.utils.data import DataLoader
from transformers import AutoModelForTokenClassification, AutoTokenizer, DataCollatorForTokenClassification, get_linear_schedule_with_warmup, set_seed


def main(train_ds, num_labels, epochs=3, device="cuda"):
    set_seed(42)
    tok = AutoTokenizer.from_pretrained("bert-base-cased")
    model = AutoModelForTokenClassification.from_pretrained("bert-base-cased", num_labels=num_labels).to(device)
    loader = DataLoader(train_ds, batch_size=16, shuffle=True, collate_fn=DataCollatorForTokenClassification(tok), num_workers=2, pin_memory=True)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-5)
    sched = get_linear_schedule_with_warmup(opt, 100, epochs * len(loader))
    model.train()
    for epoch in range(epochs):
        for i, batch in enumerate(loader):
            batch = {k: v.to(device, non_blocking=True) for k, v in batch.items()}
            loss = model(**batch).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.zero_grad()
            opt.step()
            sched.step()
            if i % 100 == 0:
                print(f"{epoch}:{i} {loss.item():.3f}")
    model.save_pretrained("ner-model")
    tok.save_pretrained("ner-model")
