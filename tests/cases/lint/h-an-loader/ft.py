import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader


def finetune(model, train_ds, val_ds, collate, epochs=3):
    accelerator = Accelerator()
    torch.manual_seed(5)
    train_dl = DataLoader(train_ds, batch_size=16, shuffle=True, collate_fn=collate, num_workers=4)
    val_dl = DataLoader(val_ds, batch_size=32, collate_fn=collate, num_workers=4)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-5)
    model, opt, val_dl = accelerator.prepare(model, opt, val_dl)
    for _ in range(epochs):
        model.train()
        for batch in train_dl:
            batch = {k: v.to(accelerator.device) for k, v in batch.items()}
            loss = model(**batch).loss
            accelerator.backward(loss)
            opt.step()
            opt.zero_grad()
        model.eval()
        hit = []
        for batch in val_dl:
            with torch.no_grad():
                pred = model(**batch).logits.argmax(-1)
            p, y = accelerator.gather_for_metrics((pred, batch["labels"]))
            hit.append((p == y).float().mean().cpu())
        accelerator.print(torch.stack(hit).mean().item())
