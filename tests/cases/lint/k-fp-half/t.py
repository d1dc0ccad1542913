import torch
from torchvision.models import resnet18


def train(dl):
    torch.manual_seed(0)
    net = resnet18().cuda().half()
    opt = torch.optim.SGD(net.parameters(), 0.1)
    sc = torch.cuda.amp.GradScaler()
    net.train()
    for x, y in dl:
        with torch.cuda.amp.autocast():
            l = torch.nn.functional.cross_entropy(net(x.cuda()), y.cuda())
        opt.zero_grad()
        sc.scale(l).backward()
        sc.step(opt)
        sc.update()
