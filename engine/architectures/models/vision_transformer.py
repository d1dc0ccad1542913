"""ViT, DeiT and DINOv2 of the catalogue, as timm builds them: fused query-key-value projection, sdpa."""

import torch.nn as nn

from engine.architectures.models.timm_transformer import VisionTransformer as TimmVisionTransformer
from engine.architectures.models.timm_layers import Mlp, SwiGLUPacked


def layer_norm(width):
    return nn.LayerNorm(width, eps=1e-6)


class VisionTransformer(TimmVisionTransformer):
    def __init__(self, config):
        super().__init__(
            img_size=config.img_size,
            patch_size=config.patch_size,
            in_chans=config.in_chans,
            num_classes=config.num_classes,
            global_pool=config.global_pool,
            embed_dim=config.embed_dim,
            depth=config.depth,
            num_heads=config.num_heads,
            mlp_ratio=config.mlp_ratio,
            qkv_bias=config.qkv_bias,
            init_values=config.init_values,
            class_token=config.class_token,
            no_embed_class=config.no_embed_class,
            reg_tokens=config.reg_tokens,
            pre_norm=config.pre_norm,
            drop_rate=config.drop_rate,
            pos_drop_rate=config.pos_drop_rate,
            proj_drop_rate=config.proj_drop_rate,
            attn_drop_rate=config.attn_drop_rate,
            drop_path_rate=config.drop_path_rate,
            norm_layer=layer_norm,
            mlp_layer=SwiGLUPacked if config.mlp_layer == "swiglu" else Mlp,
            distilled=config.distilled,
        )
