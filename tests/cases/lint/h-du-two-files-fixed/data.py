from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from torchvision import transforms
from torchvision.datasets import ImageFolder


def build_loader(root, batch, workers, train=True):
    tf = transforms.Compose([transforms.RandomResizedCrop(224), transforms.ToTensor()])
    ds = ImageFolder(root, tf)
    sampler = DistributedSampler(ds, shuffle=train)
    return DataLoader(ds, batch_size=batch, sampler=sampler, num_workers=workers, pin_memory=True, drop_last=train)
