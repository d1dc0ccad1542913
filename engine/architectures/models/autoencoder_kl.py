"""The autoencoder of Stable Diffusion, and the noise schedule that training adds noise with."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from engine.architectures.models.diffusion import DiffusionPreTrainedModel


class ResnetBlock2D(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.norm1 = nn.GroupNorm(32, inputs, eps=1e-6)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.norm2 = nn.GroupNorm(32, outputs, eps=1e-6)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.nonlinearity = nn.SiLU()
        self.conv_shortcut = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else None

    def forward(self, x):
        hidden = self.conv1(self.nonlinearity(self.norm1(x)))
        hidden = self.conv2(self.nonlinearity(self.norm2(hidden)))
        if self.conv_shortcut is not None:
            x = self.conv_shortcut(x)
        return (x + hidden) / 1.0


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.group_norm = nn.GroupNorm(32, width, eps=1e-6)
        self.to_q = nn.Linear(width, width)
        self.to_k = nn.Linear(width, width)
        self.to_v = nn.Linear(width, width)
        self.to_out = nn.ModuleList([nn.Linear(width, width), nn.Dropout(0.0)])

    def forward(self, x):
        batch, width, height, breadth = x.shape
        residual = x
        x = x.view(batch, width, height * breadth)
        x = self.group_norm(x).transpose(1, 2)
        query = self.to_q(x).unsqueeze(1)
        key = self.to_k(x).unsqueeze(1)
        value = self.to_v(x).unsqueeze(1)
        output = F.scaled_dot_product_attention(query, key, value).squeeze(1)
        output = self.to_out[1](self.to_out[0](output))
        return output.transpose(-1, -2).reshape(batch, width, height, breadth) + residual


class MidBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attentions = nn.ModuleList([Attention(width)])
        self.resnets = nn.ModuleList([ResnetBlock2D(width, width), ResnetBlock2D(width, width)])

    def forward(self, x):
        return self.resnets[1](self.attentions[0](self.resnets[0](x)))


class Downsample2D(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, stride=2)

    def forward(self, x):
        return self.conv(F.pad(x, (0, 1, 0, 1)))


class Upsample2D(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x):
        return self.conv(F.interpolate(x, scale_factor=2.0, mode="nearest"))


def stages(widths, count, between):
    blocks = []
    before = widths[0]
    for index, width in enumerate(widths):
        layers = [ResnetBlock2D(before if i == 0 else width, width) for i in range(count)]
        if index != len(widths) - 1:
            layers.append(between(width))
        blocks.append(nn.Sequential(*layers))
        before = width
    return nn.ModuleList(blocks)


class Encoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        widths = config.block_out_channels
        self.conv_in = nn.Conv2d(config.in_channels, widths[0], 3, padding=1)
        self.down_blocks = stages(widths, config.layers_per_block, Downsample2D)
        self.mid_block = MidBlock(widths[-1])
        self.conv_norm_out = nn.GroupNorm(32, widths[-1], eps=1e-6)
        self.conv_act = nn.SiLU()
        self.conv_out = nn.Conv2d(widths[-1], 2 * config.latent_channels, 3, padding=1)

    def forward(self, x, run):
        x = self.conv_in(x)
        for block in self.down_blocks:
            x = run(block, x)
        x = run(self.mid_block, x)
        return self.conv_out(self.conv_act(self.conv_norm_out(x)))


class Decoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        widths = list(reversed(config.block_out_channels))
        self.conv_in = nn.Conv2d(config.latent_channels, widths[0], 3, padding=1)
        self.mid_block = MidBlock(widths[0])
        self.up_blocks = stages(widths, config.layers_per_block + 1, Upsample2D)
        self.conv_norm_out = nn.GroupNorm(32, widths[-1], eps=1e-6)
        self.conv_act = nn.SiLU()
        self.conv_out = nn.Conv2d(widths[-1], config.out_channels, 3, padding=1)

    def forward(self, x, run):
        x = run(self.mid_block, self.conv_in(x))
        for block in self.up_blocks:
            x = run(block, x)
        return self.conv_out(self.conv_act(self.conv_norm_out(x)))


class DiagonalGaussian:
    def __init__(self, moments):
        self.mean, logvar = torch.chunk(moments, 2, dim=1)
        self.logvar = torch.clamp(logvar, -30.0, 20.0)
        self.std = torch.exp(0.5 * self.logvar)
        self.var = torch.exp(self.logvar)

    def sample(self, generator=None):
        return self.mean + self.std * torch.randn_like(self.mean)

    def mode(self):
        return self.mean

    def kl(self):
        return 0.5 * torch.sum(torch.pow(self.mean, 2) + self.var - 1.0 - self.logvar, dim=[1, 2, 3])


class Encoded:
    def __init__(self, latent_dist):
        self.latent_dist = latent_dist

    def __getitem__(self, index):
        return self.latent_dist


class AutoencoderKL(DiffusionPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)
        self.quant_conv = nn.Conv2d(2 * config.latent_channels, 2 * config.latent_channels, 1)
        self.post_quant_conv = nn.Conv2d(config.latent_channels, config.latent_channels, 1)

    def enable_slicing(self):
        return None

    def enable_tiling(self):
        return None

    def encode(self, x, return_dict=True):
        return Encoded(DiagonalGaussian(self.quant_conv(self.encoder(x, self.call))))

    def decode(self, z, return_dict=True, generator=None):
        return self.answer(self.decoder(self.post_quant_conv(z), self.call), return_dict)

    def forward(self, sample, sample_posterior=False, return_dict=True, generator=None):
        posterior = self.encode(sample).latent_dist
        return self.decode(posterior.sample() if sample_posterior else posterior.mode(), return_dict)


class ScheduleConfig:
    def __init__(self, steps, prediction):
        self.num_train_timesteps = steps
        self.prediction_type = prediction


class DDPMScheduler:
    """Only what a training step uses."""

    def __init__(self, num_train_timesteps=1000, prediction_type="epsilon", **kwargs):
        self.config = ScheduleConfig(num_train_timesteps, prediction_type)
        self.alphas_cumprod = torch.ones(num_train_timesteps)

    @classmethod
    def from_pretrained(cls, *args, **kwargs):
        return cls()

    @classmethod
    def from_config(cls, *args, **kwargs):
        return cls()

    def scales(self, samples, timesteps):
        alphas = self.alphas_cumprod.to(device=samples.device, dtype=samples.dtype)[timesteps]
        kept = (alphas**0.5).flatten()
        lost = ((1 - alphas) ** 0.5).flatten()
        while len(kept.shape) < len(samples.shape):
            kept = kept.unsqueeze(-1)
            lost = lost.unsqueeze(-1)
        return kept, lost

    def add_noise(self, original_samples, noise, timesteps):
        kept, lost = self.scales(original_samples, timesteps)
        return kept * original_samples + lost * noise

    def get_velocity(self, sample, noise, timesteps):
        kept, lost = self.scales(sample, timesteps)
        return kept * noise - lost * sample


class DDIMScheduler(DDPMScheduler):
    pass
