import torch

from nets import TextCNN


def main(dl, v, k):
    net = TextCNN(v, k).cuda()
    opt = torch.optim.Adam(net.parameters())
    ce = torch.nn.CrossEntropyLoss()
    for ids, y in dl:
        opt.zero_grad()
        ce(net(ids.cuda()), y.cuda()).backward()
        opt.step()
