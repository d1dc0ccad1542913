import torch
from torch.utils.data import DataLoader
from transformers import AutoModelForSequenceClassification, AutoTokenizer


def main(ds):
    torch.manual_seed(17)
    tok = AutoTokenizer.from_pretrained("distilbert-base-uncased")
    net = AutoModelForSequenceClassification.from_pretrained("distilbert-base-uncased", num_labels=4).to("cuda")
    dl = DataLoader(ds, batch_size=32, shuffle=True, num_workers=4, pin_memory=True)
    opt = torch.optim.AdamW(net.parameters(), lr=3e-5)
    net.train()
    for ep in range(3):
        for texts, labels in dl:
            enc = tok(list(texts), padding=True, truncation=True, return_tensors="pt").to("cuda")
            loss = net(**enc, labels=labels.to("cuda", non_blocking=True)).loss
            opt.zero_grad()
            loss.backward()
            opt.step()
    net.save_pretrained("out")
