import torch
from tqdm import tqdm


def train(vit, loader, opt, scaler):
    seen = right = 0
    for img, lab in tqdm(loader):
        img, lab = img.cuda(non_blocking=True), lab.cuda(non_blocking=True)
        opt.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            out = vit(img)
            loss = torch.nn.functional.cross_entropy(out, lab)
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
        right += (out.argmax(1) == lab).sum().item()
        seen += lab.numel()
    return right / seen
