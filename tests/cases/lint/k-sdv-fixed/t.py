import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def setup(net):
    dist.init_process_group("nccl")
    r = dist.get_rank()
    net = net.cuda(r)
    return DDP(net, device_ids=[r])
