import torch
from torch.utils.data import DataLoader
from torchvision import datasets, models, transforms

tf = transforms.Compose([transforms.Resize(224), transforms.ToTensor()])
dl = DataLoader(datasets.ImageFolder("val", tf), batch_size=64, num_workers=8)
net = models.resnet50(weights="DEFAULT").cuda().eval()
top1 = n = 0
for x, y in dl:
    out = net(x.cuda(non_blocking=True))
    top1 += (out.argmax(1).cpu() == y).sum().item()
    n += y.numel()
print(top1 / n)
