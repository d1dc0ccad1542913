import torch
from transformers import AutoModelForSequenceClassification


def train(loader):
    clf = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased").cuda()
    opt = torch.optim.AdamW(clf.parameters(), lr=2e-5)
    clf.train()
    scaler = torch.amp.GradScaler("cuda")
    for b in loader:
        opt.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = clf(**b).loss
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
