import torch
import torch.nn.functional as F


def generator_loss(outs):
    return sum(((1 - o) ** 2).mean() for o in outs)


def discriminator_loss(real, fake):
    return sum(((1 - r) ** 2).mean() + (f**2).mean() for r, f in zip(real, fake))


def train_epoch(vocoder, mpd, loader, og, od, mel_fn, device):
    vocoder.train()
    mpd.train()
    for mel, wav in loader:
        mel, wav = mel.to(device, non_blocking=True), wav.to(device, non_blocking=True)
        synth = vocoder(mel)
        od.zero_grad()
        d_loss = discriminator_loss(mpd(wav), mpd(synth.detach()))
        d_loss.backward()
        od.step()

        og.zero_grad()
        g_loss = generator_loss(mpd(synth)) + 45 * F.l1_loss(mel_fn(synth), mel)
        g_loss.backward()
        og.step()
