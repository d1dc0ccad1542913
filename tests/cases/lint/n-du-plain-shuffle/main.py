import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torchvision import datasets, transforms
from torchvision.models import resnet50


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("data")
    p.add_argument("--batch-size", type=int, default=128)
    p.add_argument("--epochs", type=int, default=90)
    return p.parse_args()


def main():
    args = get_args()
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    torch.manual_seed(0)

    tfm = transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor()])
    train_set = datasets.ImageFolder(os.path.join(args.data, "train"), tfm)
    train_loader = DataLoader(train_set, args.batch_size, shuffle=True, num_workers=8, pin_memory=True, drop_last=True)

    model = DDP(resnet50().cuda(local_rank), device_ids=[local_rank])
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 30)
    for epoch in range(args.epochs):
        model.train()
        for x, y in train_loader:
            x, y = x.cuda(local_rank, non_blocking=True), y.cuda(local_rank, non_blocking=True)
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
        scheduler.step()
        if dist.get_rank() == 0:
            torch.save(model.module.state_dict(), "resnet50.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
