import torch
from torch.distributed.fsdp import fully_shard


def shard(net):
    for layer in net.layers:
        fully_shard(layer)
    fully_shard(net)
    return net


def loop(net, tr, va, lr):
    net = shard(net)
    opt = torch.optim.AdamW(net.parameters(), lr)
    for step, b in enumerate(tr):
        net.train()
        loss = net(b["ids"], b["labels"])
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 500 == 0:
            net.eval()
            with torch.inference_mode():
                v = torch.stack([net(c["ids"], c["labels"]) for c in va]).mean()
            print(step, v.item())
