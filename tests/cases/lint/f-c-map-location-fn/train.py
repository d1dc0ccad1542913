import torch
import torch.distributed as dist


def load(path, net, rank):
    where = {"cuda:0": f"cuda:{rank}"}
    state = torch.load(path, map_location=where, weights_only=True)
    net.load_state_dict(state)
    del state
    torch.cuda.empty_cache()


def load_cached_features(path):
    return torch.load(path, weights_only=True, mmap=True, map_location="cpu")
