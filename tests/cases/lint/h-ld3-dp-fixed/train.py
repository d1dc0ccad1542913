import argparse

import torch
import torch.distributed as dist


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--local_rank", type=int)
    ap.add_argument("--init")
    a = ap.parse_args()
    dist.init_process_group("nccl")
    torch.cuda.set_device(a.local_rank)
    from nets import build

    net = build()
    net.load_state_dict(torch.load(a.init, map_location="cpu"), strict=False)
    net = torch.nn.parallel.DistributedDataParallel(net.cuda(), device_ids=[a.local_rank])


main()
