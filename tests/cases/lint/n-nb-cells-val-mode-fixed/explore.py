# %% [markdown]
# # Leaf disease baseline

# %%
import matplotlib.pyplot as plt
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Subset
from torchvision import datasets, transforms

torch.manual_seed(42)
device = torch.device("cuda")

# %%
tfm = transforms.Compose([transforms.Resize((128, 128)), transforms.ToTensor()])
full = datasets.ImageFolder("leaves", tfm)
order = torch.randperm(len(full)).tolist()
cut = int(0.85 * len(full))
train_dl = DataLoader(Subset(full, order[:cut]), batch_size=64, shuffle=True, num_workers=4, pin_memory=True)
val_dl = DataLoader(Subset(full, order[cut:]), batch_size=128, num_workers=4, pin_memory=True)

# %%
def block(a, b):
    return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(), nn.MaxPool2d(2))


model = nn.Sequential(block(3, 32), block(32, 64), block(64, 128), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.4), nn.Linear(128, len(full.classes))).to(device)
loss_fn = nn.CrossEntropyLoss()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)

# %%
history = []
for epoch in range(15):
    model.train()
    for xb, yb in train_dl:
        xb, yb = xb.to(device, non_blocking=True), yb.to(device, non_blocking=True)
        opt.zero_grad()
        loss_fn(model(xb), yb).backward()
        opt.step()

    model.eval()
    hits = 0
    with torch.no_grad():
        for xb, yb in val_dl:
            pred = model(xb.to(device, non_blocking=True)).argmax(1).cpu()
            hits += (pred == yb).sum().item()
    history.append({"epoch": epoch, "acc": hits / (len(full) - cut)})

# %%
pd.DataFrame(history).plot(x="epoch", y="acc")
plt.savefig("acc.png")
