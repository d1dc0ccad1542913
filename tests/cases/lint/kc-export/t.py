import torch


def load_vectors(path):
    return torch.load(path, weights_only=True)["vectors"]


class Store:
    def __init__(self, path, device):
        self.table = torch.load(path, map_location=torch.device(device))

    def get(self, i):
        return self.table[i]
