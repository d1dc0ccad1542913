import timm
import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader


def main(train_ds, epochs=5, grad_accum=4):
    set_seed(7)
    accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=grad_accum)
    model = timm.create_model("vit_small_patch16_224", pretrained=True, num_classes=37)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5, weight_decay=0.05)
    loader = DataLoader(train_ds, batch_size=32, shuffle=True, num_workers=8, pin_memory=True, drop_last=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(epochs):
        model.train()
        for images, labels in loader:
            with accelerator.accumulate(model):
                loss = F.cross_entropy(model(images), labels)
                loss = loss / grad_accum
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
        accelerator.print(f"epoch {epoch} done")
    accelerator.wait_for_everyone()
    accelerator.save_model(model, "out")
