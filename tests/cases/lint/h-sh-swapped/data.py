from torch.utils.data import DataLoader
from torchvision import datasets, transforms

TF = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5,), (0.5,))])


class Data:
    def __init__(self, root, bs):
        self.root, self.bs = root, bs

    def loader(self, split):
        ds = datasets.MNIST(self.root, train=split == "train", transform=TF, download=False)
        return DataLoader(ds, self.bs, shuffle=split != "train", num_workers=4)
