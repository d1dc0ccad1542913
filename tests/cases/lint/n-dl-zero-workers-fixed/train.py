from pathlib import Path

import albumentations as A
import cv2
import torch
import torch.nn.functional as F
from albumentations.pytorch import ToTensorV2
from torch.utils.data import DataLoader, Dataset
from torchvision.models.segmentation import deeplabv3_resnet50


class RoadScenes(Dataset):
    def __init__(self, root):
        self.images = sorted(Path(root, "images").glob("*.jpg"))
        self.aug = A.Compose([A.RandomCrop(512, 512), A.HorizontalFlip(), A.ColorJitter(), A.Normalize(), ToTensorV2()])

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        path = self.images[i]
        image = cv2.cvtColor(cv2.imread(str(path)), cv2.COLOR_BGR2RGB)
        mask = cv2.imread(str(path).replace("images", "masks").replace(".jpg", ".png"), cv2.IMREAD_GRAYSCALE)
        out = self.aug(image=image, mask=mask)
        return out["image"], out["mask"].long()


def main():
    torch.manual_seed(4)
    loader = DataLoader(RoadScenes("roads"), batch_size=8, shuffle=True, num_workers=8, pin_memory=True, drop_last=True)
    net = deeplabv3_resnet50(num_classes=12).cuda()
    opt = torch.optim.AdamW(net.parameters(), lr=1e-4)
    for epoch in range(60):
        net.train()
        for image, mask in loader:
            image, mask = image.cuda(non_blocking=True), mask.cuda(non_blocking=True)
            opt.zero_grad(set_to_none=True)
            loss = F.cross_entropy(net(image)["out"], mask)
            loss.backward()
            opt.step()
        print(epoch, loss.item())
        torch.save(net.state_dict(), "roads.pt")


if __name__ == "__main__":
    main()
