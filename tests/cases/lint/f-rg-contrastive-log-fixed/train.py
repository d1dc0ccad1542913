import torch.nn.functional as F


class SimSiamRunner:
    def __init__(self, backbone, optim):
        self.backbone = backbone
        self.optim = optim
        self.logs = {"loss": [], "std": []}

    def one_batch(self, v1, v2):
        p1, z1 = self.backbone(v1)
        p2, z2 = self.backbone(v2)
        neg = -(F.cosine_similarity(p1, z2.detach()).mean() + F.cosine_similarity(p2, z1.detach()).mean()) / 2
        self.optim.zero_grad()
        neg.backward()
        self.optim.step()
        self.logs["loss"].append(neg.detach())
        self.logs["std"].append(F.normalize(z1.detach(), dim=1).std(0).mean())
