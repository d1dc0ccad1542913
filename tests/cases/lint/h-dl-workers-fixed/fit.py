import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms
from torchvision.models import resnet34


class Photos(Dataset):
    def __init__(self, rows):
        self.rows = rows
        self.tf = transforms.Compose([transforms.Resize(256), transforms.RandomCrop(224), transforms.ToTensor()])

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        path, y = self.rows[i]
        return self.tf(Image.open(path).convert("RGB")), y


def main(rows):
    torch.manual_seed(0)
    dl = DataLoader(Photos(rows), batch_size=128, shuffle=True, num_workers=8, pin_memory=True)
    net = resnet34(num_classes=7).cuda()
    opt = torch.optim.Adam(net.parameters(), 1e-4)
    for _ in range(20):
        net.train()
        for x, y in dl:
            opt.zero_grad()
            torch.nn.functional.cross_entropy(net(x.cuda(non_blocking=True)), y.cuda(non_blocking=True)).backward()
            opt.step()
