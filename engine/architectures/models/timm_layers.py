"""The layers that other packages import from `timm.layers` (`timm.models.layers` before 0.9).

Arguments that only tell how weights start, or that only older versions took, are accepted and set aside.
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def to_ntuple(count):
    def parse(value):
        return tuple(value) if isinstance(value, (tuple, list)) else (value,) * count

    return parse


to_1tuple = to_ntuple(1)
to_2tuple = to_ntuple(2)
to_3tuple = to_ntuple(3)
to_4tuple = to_ntuple(4)


def make_divisible(value, divisor=8, min_value=None, round_limit=0.9):
    least = min_value or divisor
    rounded = max(least, int(value + divisor / 2) // divisor * divisor)
    if rounded < round_limit * value:
        rounded = rounded + divisor
    return rounded


def use_fused_attn(*args, **options):
    return True


def _filled(tensor, *args, **options):
    """Weights are drawn in place, without a further tensor."""
    return tensor


trunc_normal_ = _filled
trunc_normal_tf_ = _filled
lecun_normal_ = _filled
variance_scaling_ = _filled


ACTIVATIONS = {
    "relu": nn.ReLU,
    "relu6": nn.ReLU6,
    "silu": nn.SiLU,
    "swish": nn.SiLU,
    "gelu": nn.GELU,
    "gelu_tanh": nn.GELU,
    "leaky_relu": nn.LeakyReLU,
    "elu": nn.ELU,
    "prelu": nn.PReLU,
    "mish": nn.Mish,
    "sigmoid": nn.Sigmoid,
    "tanh": nn.Tanh,
    "hard_sigmoid": nn.Hardsigmoid,
    "hard_swish": nn.Hardswish,
}
IN_PLACE = ("ReLU", "ReLU6", "SiLU", "LeakyReLU", "ELU", "Mish", "Hardsigmoid", "Hardswish")


def get_act_layer(name="relu"):
    return ACTIVATIONS[name] if isinstance(name, str) else name


def create_act_layer(name, inplace=None, **options):
    layer = get_act_layer(name)
    if layer is None:
        return None
    if inplace is not None and getattr(layer, "__name__", "") in IN_PLACE:
        options["inplace"] = inplace
    return layer(**options)


def drop_path(x, drop_prob=0.0, training=False, scale_by_keep=True):
    if drop_prob == 0.0 or not training:
        return x
    kept = x.new_empty((x.shape[0],) + (1,) * (x.ndim - 1)).bernoulli_(1.0 - drop_prob)
    if drop_prob < 1.0 and scale_by_keep:
        kept.div_(1.0 - drop_prob)
    return x * kept


class DropPath(nn.Module):
    def __init__(self, drop_prob=0.0, scale_by_keep=True):
        super().__init__()
        self.drop_prob = drop_prob or 0.0
        self.scale_by_keep = scale_by_keep

    def forward(self, x):
        return drop_path(x, self.drop_prob, self.training, self.scale_by_keep)


class PatchDropout(nn.Module):
    """Keeps a random part of the tokens while training, the prefix always."""

    def __init__(self, prob=0.5, num_prefix_tokens=1, **options):
        super().__init__()
        self.prob = prob
        self.num_prefix_tokens = num_prefix_tokens

    def forward(self, x):
        if not self.training or self.prob == 0.0:
            return x
        prefix = x[:, : self.num_prefix_tokens] if self.num_prefix_tokens else None
        x = x[:, self.num_prefix_tokens :] if self.num_prefix_tokens else x
        batch, length = x.shape[0], x.shape[1]
        keep = max(1, int(length * (1.0 - self.prob)))
        chosen = torch.argsort(torch.randn(batch, length, device=x.device), dim=-1)[:, :keep]
        x = x.gather(1, chosen.unsqueeze(-1).expand((-1, -1) + x.shape[2:]))
        return x if prefix is None else torch.cat((prefix, x), dim=1)


class LayerScale(nn.Module):
    def __init__(self, dim, init_values=1e-5, inplace=False, **options):
        super().__init__()
        self.inplace = inplace
        self.gamma = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x.mul_(self.gamma) if self.inplace else x * self.gamma


class LayerScale2d(LayerScale):
    def forward(self, x):
        gamma = self.gamma.view(1, -1, 1, 1)
        return x.mul_(gamma) if self.inplace else x * gamma


class LayerNorm(nn.LayerNorm):
    """Over the last dimension, with timm's own epsilon."""

    def __init__(self, num_channels, eps=1e-6, affine=True, **options):
        super().__init__(num_channels, eps=eps, elementwise_affine=affine)


class LayerNorm2d(nn.LayerNorm):
    """Over the channels of (batch, channels, height, width)."""

    def __init__(self, num_channels, eps=1e-6, affine=True, **options):
        super().__init__(num_channels, eps=eps, elementwise_affine=affine)

    def forward(self, x):
        x = x.permute(0, 2, 3, 1)
        x = F.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)
        return x.permute(0, 3, 1, 2)


class GroupNorm1(nn.GroupNorm):
    def __init__(self, num_channels, **options):
        super().__init__(1, num_channels, eps=options.get("eps", 1e-5), affine=options.get("affine", True))


class RmsNorm(nn.RMSNorm):
    def __init__(self, channels, eps=1e-6, affine=True, **options):
        super().__init__(channels, eps=eps, elementwise_affine=affine)


NORMS = {
    "batchnorm": nn.BatchNorm2d,
    "batchnorm2d": nn.BatchNorm2d,
    "layernorm": LayerNorm,
    "layernorm2d": LayerNorm2d,
    "groupnorm1": GroupNorm1,
    "rmsnorm": RmsNorm,
}


def get_norm_layer(name):
    return NORMS[name.replace("_", "")] if isinstance(name, str) else name


class Mlp(nn.Module):
    def __init__(
        self,
        in_features,
        hidden_features=None,
        out_features=None,
        act_layer=nn.GELU,
        norm_layer=None,
        bias=True,
        drop=0.0,
        use_conv=False,
        **options,
    ):
        super().__init__()
        hidden = hidden_features or in_features
        bias, drop = to_2tuple(bias), to_2tuple(drop)
        self.fc1 = self.projection(in_features, hidden, bias[0], use_conv)
        self.act = act_layer()
        self.drop1 = nn.Dropout(drop[0])
        self.norm = norm_layer(self.inner(hidden)) if norm_layer is not None else nn.Identity()
        self.fc2 = self.projection(self.inner(hidden), out_features or in_features, bias[1], use_conv)
        self.drop2 = nn.Dropout(drop[1])

    def projection(self, inputs, outputs, bias, use_conv):
        return nn.Conv2d(inputs, outputs, kernel_size=1, bias=bias) if use_conv else nn.Linear(inputs, outputs, bias=bias)

    def inner(self, hidden):
        return hidden

    def forward(self, x):
        x = self.fc1(x)
        x = self.act(x)
        x = self.drop1(x)
        x = self.norm(x)
        x = self.fc2(x)
        return self.drop2(x)


class GluMlp(Mlp):
    """Gate and value in one projection; the hidden width counts both."""

    def __init__(self, *args, act_layer=nn.Sigmoid, use_conv=False, gate_last=True, **options):
        super().__init__(*args, act_layer=act_layer, use_conv=use_conv, **options)
        self.chunk_dim = 1 if use_conv else -1
        self.gate_last = gate_last

    def inner(self, hidden):
        return hidden // 2

    def forward(self, x):
        x = self.fc1(x)
        first, second = x.chunk(2, dim=self.chunk_dim)
        x = first * self.act(second) if self.gate_last else self.act(first) * second
        x = self.drop1(x)
        x = self.norm(x)
        x = self.fc2(x)
        return self.drop2(x)


class SwiGLUPacked(GluMlp):
    def __init__(self, *args, **options):
        options.setdefault("act_layer", nn.SiLU)
        super().__init__(*args, gate_last=False, **options)


class SwiGLU(nn.Module):
    """Gate and value in two projections."""

    def __init__(
        self,
        in_features,
        hidden_features=None,
        out_features=None,
        act_layer=nn.SiLU,
        norm_layer=None,
        bias=True,
        drop=0.0,
        align_to=0,
        **options,
    ):
        super().__init__()
        hidden = hidden_features or in_features
        if align_to:
            hidden = hidden + (-hidden % align_to)
        bias, drop = to_2tuple(bias), to_2tuple(drop)
        self.fc1_g = nn.Linear(in_features, hidden, bias=bias[0])
        self.fc1_x = nn.Linear(in_features, hidden, bias=bias[0])
        self.act = act_layer()
        self.drop1 = nn.Dropout(drop[0])
        self.norm = norm_layer(hidden) if norm_layer is not None else nn.Identity()
        self.fc2 = nn.Linear(hidden, out_features or in_features, bias=bias[1])
        self.drop2 = nn.Dropout(drop[1])

    def forward(self, x):
        gate = self.fc1_g(x)
        x = self.fc1_x(x)
        x = self.act(gate) * x
        x = self.drop1(x)
        x = self.norm(x)
        x = self.fc2(x)
        return self.drop2(x)


class ConvMlp(nn.Module):
    def __init__(
        self,
        in_features,
        hidden_features=None,
        out_features=None,
        act_layer=nn.ReLU,
        norm_layer=None,
        bias=True,
        drop=0.0,
        **options,
    ):
        super().__init__()
        hidden = hidden_features or in_features
        bias = to_2tuple(bias)
        self.fc1 = nn.Conv2d(in_features, hidden, kernel_size=1, bias=bias[0])
        self.norm = norm_layer(hidden) if norm_layer else nn.Identity()
        self.act = act_layer()
        self.drop = nn.Dropout(drop)
        self.fc2 = nn.Conv2d(hidden, out_features or in_features, kernel_size=1, bias=bias[1])

    def forward(self, x):
        x = self.act(self.norm(self.fc1(x)))
        return self.fc2(self.drop(x))


class GlobalResponseNorm(nn.Module):
    def __init__(self, dim, eps=1e-6, channels_last=True, **options):
        super().__init__()
        self.eps = eps
        self.spatial_dim = (1, 2) if channels_last else (2, 3)
        self.channel_dim = -1 if channels_last else 1
        self.wb_shape = (1, 1, 1, -1) if channels_last else (1, -1, 1, 1)
        self.weight = nn.Parameter(torch.zeros(dim))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        norm = x.norm(p=2, dim=self.spatial_dim, keepdim=True)
        scaled = norm / (norm.mean(dim=self.channel_dim, keepdim=True) + self.eps)
        return x + torch.addcmul(self.bias.view(self.wb_shape), self.weight.view(self.wb_shape), x * scaled)


class PatchEmbed(nn.Module):
    def __init__(
        self,
        img_size=224,
        patch_size=16,
        in_chans=3,
        embed_dim=768,
        norm_layer=None,
        flatten=True,
        output_fmt=None,
        bias=True,
        strict_img_size=True,
        dynamic_img_pad=False,
        **options,
    ):
        super().__init__()
        self.patch_size = to_2tuple(patch_size)
        self.img_size = self.grid_size = self.num_patches = None
        if img_size is not None:
            self.img_size = to_2tuple(img_size)
            self.grid_size = (self.img_size[0] // self.patch_size[0], self.img_size[1] // self.patch_size[1])
            self.num_patches = self.grid_size[0] * self.grid_size[1]
        self.channels_last = output_fmt == "NHWC"
        self.flatten = flatten and output_fmt is None
        self.strict_img_size = strict_img_size
        self.dynamic_img_pad = dynamic_img_pad
        self.proj = nn.Conv2d(in_chans, embed_dim, kernel_size=self.patch_size, stride=self.patch_size, bias=bias)
        self.norm = norm_layer(embed_dim) if norm_layer else nn.Identity()

    def forward(self, x):
        if self.dynamic_img_pad:
            x = F.pad(x, (0, -x.shape[3] % self.patch_size[1], 0, -x.shape[2] % self.patch_size[0]))
        x = self.proj(x)
        if self.flatten:
            x = x.flatten(2).transpose(1, 2)
        elif self.channels_last:
            x = x.permute(0, 2, 3, 1)
        return self.norm(x)


class Attention(nn.Module):
    def __init__(
        self,
        dim,
        num_heads=8,
        qkv_bias=False,
        qk_norm=False,
        scale_norm=False,
        proj_bias=True,
        attn_drop=0.0,
        proj_drop=0.0,
        norm_layer=None,
        **options,
    ):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = options.get("attn_head_dim") or dim // num_heads
        self.attn_dim = num_heads * self.head_dim
        self.scale = self.head_dim**-0.5
        # Versions with this argument (before 0.5) multiplied out the scores.
        self.fused_attn = use_fused_attn() and "qk_scale" not in options
        self.qkv = nn.Linear(dim, self.attn_dim * 3, bias=qkv_bias)
        self.q_norm = norm_layer(self.head_dim) if qk_norm else nn.Identity()
        self.k_norm = norm_layer(self.head_dim) if qk_norm else nn.Identity()
        self.attn_drop = nn.Dropout(attn_drop)
        self.norm = norm_layer(self.attn_dim) if scale_norm else nn.Identity()
        self.proj = nn.Linear(self.attn_dim, options.get("dim_out") or dim, bias=proj_bias)
        self.proj_drop = nn.Dropout(proj_drop)

    def forward(self, x, attn_mask=None, is_causal=False):
        batch, length, width = x.shape
        qkv = self.qkv(x).reshape(batch, length, 3, self.num_heads, self.head_dim).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        q, k = self.q_norm(q), self.k_norm(k)
        if self.fused_attn:
            dropout = self.attn_drop.p if self.training else 0.0
            x = F.scaled_dot_product_attention(q, k, v, attn_mask=attn_mask, dropout_p=dropout, is_causal=is_causal)
        else:
            q = q * self.scale
            weights = q @ k.transpose(-2, -1)
            if attn_mask is not None:
                weights = weights + attn_mask
            weights = weights.softmax(dim=-1)
            weights = self.attn_drop(weights)
            x = weights @ v
        x = x.transpose(1, 2).reshape(batch, length, self.attn_dim)
        x = self.norm(x)
        x = self.proj(x)
        return self.proj_drop(x)


class SqueezeExcite(nn.Module):
    def __init__(
        self,
        channels,
        rd_ratio=1.0 / 16,
        rd_channels=None,
        rd_divisor=8,
        add_maxpool=False,
        bias=True,
        act_layer=nn.ReLU,
        norm_layer=None,
        gate_layer="sigmoid",
        **options,
    ):
        super().__init__()
        self.add_maxpool = add_maxpool
        if not rd_channels:
            rd_channels = make_divisible(channels * rd_ratio, rd_divisor, round_limit=0.0)
        self.fc1 = nn.Conv2d(channels, rd_channels, kernel_size=1, bias=bias)
        self.bn = norm_layer(rd_channels) if norm_layer else nn.Identity()
        self.act = create_act_layer(act_layer, inplace=True)
        self.fc2 = nn.Conv2d(rd_channels, channels, kernel_size=1, bias=bias)
        self.gate = create_act_layer(gate_layer)

    def forward(self, x):
        pooled = x.mean((2, 3), keepdim=True)
        if self.add_maxpool:
            pooled = 0.5 * pooled + 0.5 * x.amax((2, 3), keepdim=True)
        pooled = self.fc1(pooled)
        pooled = self.act(self.bn(pooled))
        pooled = self.fc2(pooled)
        return x * self.gate(pooled)


SEModule = SqueezeExcite


class EffectiveSEModule(nn.Module):
    def __init__(self, channels, add_maxpool=False, gate_layer="hard_sigmoid", **options):
        super().__init__()
        self.add_maxpool = add_maxpool
        self.fc = nn.Conv2d(channels, channels, kernel_size=1)
        self.gate = create_act_layer(gate_layer)

    def forward(self, x):
        pooled = x.mean((2, 3), keepdim=True)
        if self.add_maxpool:
            pooled = 0.5 * pooled + 0.5 * x.amax((2, 3), keepdim=True)
        return x * self.gate(self.fc(pooled))


class EcaModule(nn.Module):
    """Channel attention by one short convolution over the channels."""

    def __init__(self, channels=None, kernel_size=3, gamma=2, beta=1, **options):
        super().__init__()
        if channels is not None:
            reach = int(abs(math.log(channels, 2) + beta) / gamma)
            kernel_size = max(reach if reach % 2 else reach + 1, 3)
        self.conv = nn.Conv1d(1, 1, kernel_size=kernel_size, padding=(kernel_size - 1) // 2, bias=False)
        self.gate = nn.Sigmoid()

    def forward(self, x):
        pooled = x.mean((2, 3)).view(x.shape[0], 1, -1)
        pooled = self.gate(self.conv(pooled)).view(x.shape[0], -1, 1, 1)
        return x * pooled.expand_as(x)


class ConvNormAct(nn.Module):
    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size=1,
        stride=1,
        padding="",
        dilation=1,
        groups=1,
        bias=False,
        apply_norm=True,
        apply_act=True,
        norm_layer=nn.BatchNorm2d,
        act_layer=nn.ReLU,
        **options,
    ):
        super().__init__()
        if padding == "" or padding is None:
            padding = ((stride - 1) + dilation * (kernel_size - 1)) // 2
        self.conv = nn.Conv2d(
            in_channels,
            out_channels,
            kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            groups=groups,
            bias=bias,
        )
        self.bn = norm_layer(out_channels) if apply_norm else nn.Identity()
        self.act = create_act_layer(act_layer, inplace=True) if apply_act and act_layer is not None else nn.Identity()

    def forward(self, x):
        return self.act(self.bn(self.conv(x)))


ConvBnAct = ConvNormAct
