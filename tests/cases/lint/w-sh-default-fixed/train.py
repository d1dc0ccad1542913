import torch
from torch.utils.data import DataLoader


def run(train_set, test_set, net, crit):
    torch.manual_seed(7)
    train_dl = DataLoader(train_set, batch_size=64, shuffle=True, num_workers=4, pin_memory=True)
    test_dl = DataLoader(test_set, batch_size=64, num_workers=4, pin_memory=True)
    opt = torch.optim.Adam(net.parameters())
    for _ in range(20):
        net.train()
        for x, y in train_dl:
            opt.zero_grad()
            crit(net(x), y).backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            sum(crit(net(x), y).item() for x, y in test_dl)
