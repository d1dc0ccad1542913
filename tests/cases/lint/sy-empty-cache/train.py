import torch


def train_one(model, loader, opt, lossfn):
    model.train()
    for sample in loader:
        opt.zero_grad()
        l = lossfn(model(sample["img"].cuda()), sample["gt"].cuda())
        l.backward()
        opt.step()
        del l
        torch.cuda.empty_cache()
