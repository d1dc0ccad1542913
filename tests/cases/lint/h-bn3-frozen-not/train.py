import torch
import torchvision


def train(dl_set, accum=32):
    net = torchvision.models.resnet34(num_classes=5).cuda().train()
    dl = torch.utils.data.DataLoader(dl_set, batch_size=1, shuffle=True, num_workers=4, pin_memory=True)
    opt = torch.optim.SGD(net.parameters(), 0.01)
    for i, (x, y) in enumerate(dl):
        loss = torch.nn.functional.cross_entropy(net(x.cuda()), y.cuda())
        (loss / accum).backward()
        if (i + 1) % accum == 0:
            opt.step()
            opt.zero_grad()
