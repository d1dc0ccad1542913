import torch


def load(path, device="cpu"):
    return torch.load(path, map_location=device, weights_only=True)


class Zoo:
    def __init__(self, nets):
        self.nets = nets

    def restore(self, folder, gpu):
        where = {"cuda:0": f"cuda:{gpu}"}
        for name, net in self.nets.items():
            net.load_state_dict(torch.load(f"{folder}/{name}.pt", where))
            net.to(gpu)

    def hub(self, url):
        self.nets["x"].load_state_dict(torch.hub.load_state_dict_from_url(url, map_location="cpu"))


def cached(ds, path):
    try:
        feats = torch.load(path, map_location=lambda s, _: s)
    except FileNotFoundError:
        feats = torch.stack([x for x, _ in ds])
        torch.save(feats, path)
    return feats
