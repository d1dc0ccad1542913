"""`timm.models.vision_transformer`: the blocks, and the model that MAE, DeiT and others subclass."""

import torch
import torch.nn as nn

from engine.architectures.models.imaging import Classifier, classifier, path_rates
from engine.architectures.models.timm_layers import Attention, DropPath, LayerNorm, LayerScale, Mlp, PatchDropout, PatchEmbed


class Block(nn.Module):
    def __init__(
        self,
        dim,
        num_heads,
        mlp_ratio=4.0,
        qkv_bias=False,
        qk_norm=False,
        proj_bias=True,
        proj_drop=0.0,
        attn_drop=0.0,
        init_values=None,
        drop_path=0.0,
        act_layer=nn.GELU,
        norm_layer=LayerNorm,
        mlp_layer=Mlp,
        **options,
    ):
        super().__init__()
        # `drop` and `qk_scale` are older versions' arguments.
        drop = options.get("drop", proj_drop)
        further = {"qk_scale": options["qk_scale"]} if "qk_scale" in options else {}
        self.norm1 = norm_layer(dim)
        self.attn = Attention(
            dim,
            num_heads=num_heads,
            qkv_bias=qkv_bias,
            qk_norm=qk_norm,
            proj_bias=proj_bias,
            attn_drop=attn_drop,
            proj_drop=drop,
            norm_layer=norm_layer,
            **further,
        )
        self.ls1 = LayerScale(dim, init_values) if init_values else nn.Identity()
        self.drop_path1 = DropPath(drop_path) if drop_path > 0.0 else nn.Identity()
        self.norm2 = norm_layer(dim)
        biased = {} if proj_bias else {"bias": False}
        self.mlp = mlp_layer(
            in_features=dim, hidden_features=int(dim * mlp_ratio), act_layer=act_layer, drop=drop, **biased
        )
        self.ls2 = LayerScale(dim, init_values) if init_values else nn.Identity()
        self.drop_path2 = DropPath(drop_path) if drop_path > 0.0 else nn.Identity()

    def attend(self, x, attn_mask, is_causal):
        if attn_mask is None and not is_causal:
            return self.attn(self.norm1(x))
        return self.attn(self.norm1(x), attn_mask=attn_mask, is_causal=is_causal)

    def forward(self, x, attn_mask=None, is_causal=False):
        x = x + self.drop_path1(self.ls1(self.attend(x, attn_mask, is_causal)))
        x = x + self.drop_path2(self.ls2(self.mlp(self.norm2(x))))
        return x


class VisionTransformer(Classifier):
    classifier_name = "head"

    def __init__(
        self,
        img_size=224,
        patch_size=16,
        in_chans=3,
        num_classes=1000,
        global_pool="token",
        embed_dim=768,
        depth=12,
        num_heads=12,
        mlp_ratio=4.0,
        qkv_bias=True,
        qk_norm=False,
        proj_bias=True,
        init_values=None,
        class_token=True,
        pos_embed="learn",
        no_embed_class=False,
        reg_tokens=0,
        pre_norm=False,
        final_norm=True,
        fc_norm=None,
        drop_rate=0.0,
        pos_drop_rate=0.0,
        patch_drop_rate=0.0,
        proj_drop_rate=0.0,
        attn_drop_rate=0.0,
        drop_path_rate=0.0,
        embed_layer=PatchEmbed,
        norm_layer=None,
        act_layer=None,
        block_fn=Block,
        mlp_layer=Mlp,
        distilled=False,
        **options,
    ):
        super().__init__()
        norm_layer = norm_layer or LayerNorm
        self.num_classes = num_classes
        self.global_pool = global_pool
        self.num_features = self.head_hidden_size = self.embed_dim = embed_dim
        self.no_embed_class = no_embed_class
        biased = {"bias": False} if pre_norm else {}
        self.patch_embed = embed_layer(
            img_size=img_size, patch_size=patch_size, in_chans=in_chans, embed_dim=embed_dim, **biased
        )
        self.cls_token = nn.Parameter(torch.zeros(1, 1, embed_dim)) if class_token else None
        self.dist_token = nn.Parameter(torch.zeros(1, 1, embed_dim)) if distilled else None
        self.reg_token = nn.Parameter(torch.zeros(1, reg_tokens, embed_dim)) if reg_tokens else None
        prefix = (1 if class_token else 0) + (1 if distilled else 0) + reg_tokens
        self.num_prefix_tokens = self.num_tokens = prefix
        self.num_reg_tokens = reg_tokens
        self.has_class_token = class_token
        count = self.patch_embed.num_patches if no_embed_class else self.patch_embed.num_patches + prefix
        self.pos_embed = nn.Parameter(torch.zeros(1, count, embed_dim)) if pos_embed == "learn" else None
        self.pos_drop = nn.Dropout(pos_drop_rate)
        self.patch_drop = PatchDropout(patch_drop_rate, prefix) if patch_drop_rate > 0 else nn.Identity()
        self.norm_pre = norm_layer(embed_dim) if pre_norm else nn.Identity()
        chosen = {"act_layer": act_layer} if act_layer else {}
        if qk_norm:
            chosen["qk_norm"] = True
        if "qk_scale" in options:
            chosen["qk_scale"] = options["qk_scale"]
        self.blocks = nn.Sequential(
            *[
                block_fn(
                    dim=embed_dim,
                    num_heads=num_heads,
                    mlp_ratio=mlp_ratio,
                    qkv_bias=qkv_bias,
                    proj_bias=proj_bias,
                    proj_drop=proj_drop_rate,
                    attn_drop=attn_drop_rate,
                    init_values=init_values,
                    drop_path=rate,
                    norm_layer=norm_layer,
                    mlp_layer=mlp_layer,
                    **chosen,
                )
                for rate in path_rates(drop_path_rate, depth)
            ]
        )
        pooled = global_pool in ("avg", "avgmax", "max") if fc_norm is None else fc_norm
        self.norm = norm_layer(embed_dim) if final_norm and not pooled else nn.Identity()
        self.fc_norm = norm_layer(embed_dim) if final_norm and pooled else nn.Identity()
        self.head_drop = nn.Dropout(drop_rate)
        self.head = classifier(embed_dim, num_classes)
        self.head_dist = classifier(embed_dim, num_classes) if distilled else None

    def init_weights(self, mode=""):
        pass

    def _init_weights(self, module):
        pass

    def no_weight_decay(self):
        return {"pos_embed", "cls_token", "dist_token"}

    def _pos_embed(self, x):
        tokens = []
        if self.cls_token is not None:
            tokens.append(self.cls_token.expand(x.shape[0], -1, -1))
        if self.dist_token is not None:
            tokens.append(self.dist_token.expand(x.shape[0], -1, -1))
        if self.reg_token is not None:
            tokens.append(self.reg_token.expand(x.shape[0], -1, -1))
        if self.no_embed_class and self.pos_embed is not None:
            x = x + self.pos_embed
        if tokens:
            x = torch.cat(tokens + [x], dim=1)
        if not self.no_embed_class and self.pos_embed is not None:
            x = x + self.pos_embed
        return self.pos_drop(x)

    def forward_features(self, x, attn_mask=None):
        x = self.patch_embed(x)
        x = self._pos_embed(x)
        x = self.patch_drop(x)
        x = self.norm_pre(x)
        if self.grad_checkpointing and self.training:
            x = self.run(self.blocks, x)
        else:
            x = self.blocks(x)
        return self.norm(x)

    def pool(self, x):
        if self.global_pool == "avg":
            return x[:, self.num_prefix_tokens :].mean(dim=1)
        return x[:, 0] if self.global_pool else x

    def forward_head(self, x, pre_logits=False):
        if self.head_dist is not None:
            first = self.head(x[:, 0])
            second = self.head_dist(x[:, 1])
            return (first + second) / 2
        # A subclass written for versions before 0.6 pools in its own forward_features.
        if x.dim() > 2:
            x = self.pool(x)
            x = self.fc_norm(x)
            x = self.head_drop(x)
        return x if pre_logits else self.head(x)

    def forward(self, x):
        x = self.forward_features(x)
        return self.forward_head(x)


def checkpoint_filter_fn(state_dict, model, **options):
    return state_dict


def _cfg(url="", **options):
    return {"url": url, "num_classes": 1000, "input_size": (3, 224, 224), "pool_size": None, "crop_pct": 0.9, **options}
