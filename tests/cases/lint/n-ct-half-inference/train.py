import torch
import torch.nn.functional as F


def train(extractor, translator, loader, device, epochs=10):
    extractor = extractor.to(device).half().eval()
    extractor.requires_grad_(False)
    translator = translator.to(device)
    opt = torch.optim.AdamW(translator.parameters(), lr=3e-4)
    scaler = torch.amp.GradScaler("cuda")
    for epoch in range(epochs):
        translator.train()
        for image, caption in loader:
            image = image.to(device, non_blocking=True)
            caption = caption.to(device, non_blocking=True)
            with torch.no_grad():
                feats = extractor(image.half())
            opt.zero_grad(set_to_none=True)
            with torch.autocast("cuda", dtype=torch.float16):
                logits = translator(feats.float(), caption[:, :-1])
                loss = F.cross_entropy(logits.flatten(0, 1), caption[:, 1:].flatten(), ignore_index=0)
            scaler.scale(loss).backward()
            scaler.unscale_(opt)
            torch.nn.utils.clip_grad_norm_(translator.parameters(), 1.0)
            scaler.step(opt)
            scaler.update()
        torch.save(translator.state_dict(), f"translator_{epoch}.pt")
