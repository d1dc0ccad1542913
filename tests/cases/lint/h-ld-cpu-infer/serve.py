import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, d=80, k=35):
        super().__init__()
        self.rnn = nn.GRU(d, 128, batch_first=True)
        self.out = nn.Linear(128, k)

    def forward(self, x):
        return self.out(self.rnn(x)[0][:, -1])


class Service:
    def __init__(self, path):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.net = Model()
        self.net.load_state_dict(torch.load(path)["model"])
        self.net.to(self.device).eval()

    @torch.inference_mode()
    def __call__(self, feats):
        return self.net(feats.to(self.device)).argmax(-1).tolist()
