import torch


def run(net, loaders, opt, crit, epochs):
    net.train()
    for epoch in range(epochs):
        for phase in ["train", "val"]:
            if phase == "val":
                net.eval()
            for x, y in loaders[phase]:
                with torch.set_grad_enabled(phase == "train"):
                    loss = crit(net(x), y)
                if phase == "train":
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
