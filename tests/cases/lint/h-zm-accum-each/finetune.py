import argparse

import torch
from torch.utils.data import DataLoader
from transformers import AutoModelForSequenceClassification, AutoTokenizer, get_linear_schedule_with_warmup


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--accum", type=int, default=8)
    p.add_argument("--lr", type=float, default=2e-5)
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--seed", type=int, default=13)
    return p.parse_args()


def main(dataset):
    a = parse()
    torch.manual_seed(a.seed)
    tok = AutoTokenizer.from_pretrained("roberta-base")
    clf = AutoModelForSequenceClassification.from_pretrained("roberta-base", num_labels=3).cuda()
    dl = DataLoader(dataset, batch_size=4, shuffle=True, num_workers=4, pin_memory=True)
    opt = torch.optim.AdamW(clf.parameters(), lr=a.lr)
    sched = get_linear_schedule_with_warmup(opt, 100, a.epochs * len(dl) // a.accum)
    clf.train()
    for _ in range(a.epochs):
        for step, batch in enumerate(dl):
            opt.zero_grad()
            enc = tok(batch["text"], padding=True, truncation=True, return_tensors="pt").to("cuda")
            loss = clf(**enc, labels=batch["label"].cuda(non_blocking=True)).loss
            (loss / a.accum).backward()
            if (step + 1) % a.accum == 0:
                torch.nn.utils.clip_grad_norm_(clf.parameters(), 1.0)
                opt.step()
                sched.step()
