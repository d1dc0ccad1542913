import os
import tarfile

import torch
import torch.distributed as dist
from torchvision.datasets.utils import download_url


def prepare(root, url):
    path = os.path.join(root, "data.tar")
    if not os.path.exists(path):
        download_url(url, root, "data.tar")
        with tarfile.open(path) as t:
            t.extractall(root)
    return os.path.join(root, "data")


def main(build, url, root="data"):
    dist.init_process_group("nccl")
    gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    if gpu == 0:
        prepare(root, url)
    dist.barrier()
    folder = os.path.join(root, "data")
    net, dl = build(folder, gpu)
    net = torch.nn.parallel.DistributedDataParallel(net, device_ids=[gpu])
    opt = torch.optim.SGD(net.parameters(), 0.1)
    net.train()
    for x, y in dl:
        opt.zero_grad()
        torch.nn.functional.cross_entropy(net(x.cuda()), y.cuda()).backward()
        opt.step()
