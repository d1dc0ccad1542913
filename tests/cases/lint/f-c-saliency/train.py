import torch


def gradcam(net, layer, img, cls):
    acts, grads = [], []
    a = layer.register_forward_hook(lambda m, i, o: acts.append(o))
    b = layer.register_full_backward_hook(lambda m, gi, go: grads.append(go[0]))
    net.eval()
    net.zero_grad()
    net(img)[0, cls].backward()
    a.remove(), b.remove()
    w = grads[0].mean((2, 3), keepdim=True)
    return torch.relu((w * acts[0]).sum(1)).detach().cpu()
