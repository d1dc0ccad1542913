import torch
from transformers import AutoModelForSequenceClassification


def main(name, dl):
    clf = AutoModelForSequenceClassification.from_pretrained(name).cuda()
    opt = torch.optim.AdamW(clf.parameters(), 2e-5)
    scaler = torch.amp.GradScaler("cuda")
    for b in dl:
        clf.train()
        opt.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = clf(**b).loss
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
