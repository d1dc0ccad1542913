import itertools
import os
import random

import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms


class Res(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.b = nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(c, c, 3), nn.InstanceNorm2d(c), nn.ReLU(True), nn.ReflectionPad2d(1), nn.Conv2d(c, c, 3), nn.InstanceNorm2d(c))

    def forward(self, x):
        return x + self.b(x)


class Generator(nn.Module):
    def __init__(self, ch=64, n=9):
        super().__init__()
        layers = [nn.ReflectionPad2d(3), nn.Conv2d(3, ch, 7), nn.InstanceNorm2d(ch), nn.ReLU(True)]
        for _ in range(2):
            layers += [nn.Conv2d(ch, ch * 2, 3, stride=2, padding=1), nn.InstanceNorm2d(ch * 2), nn.ReLU(True)]
            ch *= 2
        layers += [Res(ch) for _ in range(n)]
        for _ in range(2):
            layers += [nn.ConvTranspose2d(ch, ch // 2, 3, stride=2, padding=1, output_padding=1), nn.InstanceNorm2d(ch // 2), nn.ReLU(True)]
            ch //= 2
        layers += [nn.ReflectionPad2d(3), nn.Conv2d(ch, 3, 7), nn.Tanh()]
        self.net = nn.Sequential(*layers)

    def forward(self, x):
        return self.net(x)


class Patch(nn.Module):
    def __init__(self, ch=64):
        super().__init__()
        seq = [nn.Conv2d(3, ch, 4, 2, 1), nn.LeakyReLU(0.2, True)]
        for k in (1, 2, 4):
            seq += [nn.Conv2d(ch * k, ch * k * 2, 4, 2, 1), nn.InstanceNorm2d(ch * k * 2), nn.LeakyReLU(0.2, True)]
        seq.append(nn.Conv2d(ch * 8, 1, 4, 1, 1))
        self.net = nn.Sequential(*seq)

    def forward(self, x):
        return self.net(x)


class Pool:
    """History of generated images."""

    def __init__(self, size=50):
        self.size, self.images = size, []

    def query(self, batch):
        out = []
        for im in batch:
            im = im.unsqueeze(0)
            if len(self.images) < self.size:
                self.images.append(im)
                out.append(im)
            elif random.random() > 0.5:
                k = random.randrange(self.size)
                out.append(self.images[k].clone())
                self.images[k] = im
            else:
                out.append(im)
        return torch.cat(out)


class Unpaired(Dataset):
    def __init__(self, root, size=256):
        self.a = sorted(os.path.join(root, "trainA", f) for f in os.listdir(os.path.join(root, "trainA")))
        self.b = sorted(os.path.join(root, "trainB", f) for f in os.listdir(os.path.join(root, "trainB")))
        self.t = transforms.Compose(
            [transforms.Resize(int(size * 1.12)), transforms.RandomCrop(size), transforms.RandomHorizontalFlip(), transforms.ToTensor(), transforms.Normalize((0.5,) * 3, (0.5,) * 3)]
        )

    def __len__(self):
        return max(len(self.a), len(self.b))

    def __getitem__(self, i):
        a = Image.open(self.a[i % len(self.a)]).convert("RGB")
        b = Image.open(self.b[random.randint(0, len(self.b) - 1)]).convert("RGB")
        return {"A": self.t(a), "B": self.t(b)}


def set_grad(nets, flag):
    for n in nets:
        for p in n.parameters():
            p.requires_grad = flag


class CycleGAN:
    def __init__(self, device, lr=2e-4, lam=10.0, idt=0.5):
        self.device, self.lam, self.idt = device, lam, idt
        self.g_ab, self.g_ba = Generator().to(device), Generator().to(device)
        self.d_a, self.d_b = Patch().to(device), Patch().to(device)
        for n in (self.g_ab, self.g_ba, self.d_a, self.d_b):
            n.apply(self._init)
        self.opt_g = torch.optim.Adam(itertools.chain(self.g_ab.parameters(), self.g_ba.parameters()), lr=lr, betas=(0.5, 0.999))
        self.opt_d = torch.optim.Adam(itertools.chain(self.d_a.parameters(), self.d_b.parameters()), lr=lr, betas=(0.5, 0.999))
        self.pool_a, self.pool_b = Pool(), Pool()
        self.gan, self.l1 = nn.MSELoss(), nn.L1Loss()

    @staticmethod
    def _init(m):
        if isinstance(m, (nn.Conv2d, nn.ConvTranspose2d)):
            nn.init.normal_(m.weight.data, 0.0, 0.02)
            if m.bias is not None:
                nn.init.constant_(m.bias.data, 0.0)

    def adv(self, pred, real):
        return self.gan(pred, torch.full_like(pred, 1.0 if real else 0.0))

    def forward(self, a, b):
        self.real_a, self.real_b = a.to(self.device), b.to(self.device)
        self.fake_b = self.g_ab(self.real_a)
        self.rec_a = self.g_ba(self.fake_b)
        self.fake_a = self.g_ba(self.real_b)
        self.rec_b = self.g_ab(self.fake_a)

    def backward_g(self):
        idt = self.l1(self.g_ab(self.real_b), self.real_b) + self.l1(self.g_ba(self.real_a), self.real_a)
        adv = self.adv(self.d_b(self.fake_b), True) + self.adv(self.d_a(self.fake_a), True)
        cyc = self.l1(self.rec_a, self.real_a) + self.l1(self.rec_b, self.real_b)
        self.loss_g = adv + self.lam * cyc + self.lam * self.idt * idt
        self.loss_g.backward()

    def backward_d(self, net, real, fake):
        loss = 0.5 * (self.adv(net(real), True) + self.adv(net(fake.detach()), False))
        loss.backward()
        return loss

    def optimize(self, a, b):
        self.forward(a, b)
        set_grad([self.d_a, self.d_b], False)
        self.opt_g.zero_grad()
        self.backward_g()
        self.opt_g.step()
        set_grad([self.d_a, self.d_b], True)
        self.opt_d.zero_grad()
        self.loss_da = self.backward_d(self.d_a, self.real_a, self.pool_a.query(self.fake_a.detach()))
        self.loss_db = self.backward_d(self.d_b, self.real_b, self.pool_b.query(self.fake_b.detach()))
        self.opt_d.step()

    def losses(self):
        return {"g": float(self.loss_g), "da": float(self.loss_da), "db": float(self.loss_db)}

    @torch.no_grad()
    def translate(self, a):
        self.g_ab.eval()
        out = self.g_ab(a.to(self.device))
        self.g_ab.train()
        return out

    def save(self, path):
        torch.save({k: getattr(self, k).state_dict() for k in ("g_ab", "g_ba", "d_a", "d_b", "opt_g", "opt_d")}, path)


def linear_decay(epoch, start=100, total=200):
    return 1.0 - max(0, epoch - start) / (total - start + 1)


def main(root="datasets/horse2zebra", epochs=200):
    random.seed(0)
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    data = DataLoader(Unpaired(root), batch_size=1, shuffle=True, num_workers=4, pin_memory=True)
    gan = CycleGAN(device)
    scheds = [torch.optim.lr_scheduler.LambdaLR(o, linear_decay) for o in (gan.opt_g, gan.opt_d)]
    for epoch in range(epochs):
        for i, batch in enumerate(data):
            gan.optimize(batch["A"], batch["B"])
            if i % 200 == 0:
                print(epoch, i, gan.losses())
        for s in scheds:
            s.step()
        if epoch % 10 == 9:
            gan.save(f"cycle_{epoch}.pt")


if __name__ == "__main__":
    main()
