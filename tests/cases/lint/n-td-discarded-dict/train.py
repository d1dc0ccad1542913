import torch
from torch.utils.data import DataLoader
from tqdm import tqdm
from transformers import AutoModelForSequenceClassification, set_seed


def train(dataset, epochs=4, device="cuda"):
    set_seed(10)
    model = AutoModelForSequenceClassification.from_pretrained("distilbert-base-uncased", num_labels=5)
    model.to(device)
    loader = DataLoader(dataset, batch_size=32, shuffle=True, num_workers=2, pin_memory=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
    for epoch in range(epochs):
        model.train()
        bar = tqdm(loader, desc=f"epoch {epoch}")
        for batch in bar:
            for key in batch:
                batch[key].to(device, non_blocking=True)
            optimizer.zero_grad()
            outputs = model(**batch)
            outputs.loss.backward()
            optimizer.step()
        print(outputs.loss.item())
    model.save_pretrained("stars")
