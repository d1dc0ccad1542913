"""MultiheadAttention and the Transformer layers."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from engine.memory.tensors import dtypes, machine
from engine.memory.tensors.dtypes import DType
from engine.memory.tensors.linear_algebra import baddbmm, bmm
from engine.memory.tensors.nn.containers import ModuleList
from engine.memory.tensors.nn.functional_layers import FUNCTIONS_AS_MODULES
from engine.memory.tensors.nn.layers import LayerNorm, Linear, weight_of
from engine.memory.tensors.nn.module import Module
from engine.memory.tensors.pointwise import mul
from engine.memory.tensors.registry import FUNCTIONAL
from engine.memory.tensors.softmax import softmax
from engine.memory.tensors.tensor import Tensor, new

F = FUNCTIONAL


class MultiheadAttention(Module):
    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise ValueError("embed_dim must be divisible by num_heads")
        self.same = (kdim in (None, embed_dim)) and (vdim in (None, embed_dim))
        if self.same:
            self.in_proj_weight = weight_of((3 * embed_dim, embed_dim), device, dtype)
        else:
            self.q_proj_weight = weight_of((embed_dim, embed_dim), device, dtype)
            self.k_proj_weight = weight_of((embed_dim, kdim or embed_dim), device, dtype)
            self.v_proj_weight = weight_of((embed_dim, vdim or embed_dim), device, dtype)
        self.register_parameter("in_proj_bias", weight_of((3 * embed_dim,), device, dtype) if bias else None)
        self.out_proj = Linear(embed_dim, embed_dim, bias, device, dtype)

    def _projections(self, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        e = self.embed_dim
        bias = self.in_proj_bias
        if self.same and q is k and k is v:
            packed = F["linear"](q, self.in_proj_weight, bias)
            packed = packed.unflatten(-1, (3, e)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
            return packed[0], packed[1], packed[2]
        if self.same and k is v:
            wq, wkv = self.in_proj_weight.split([e, 2 * e])
            bq, bkv = bias.split([e, 2 * e]) if bias is not None else (None, None)
            query = F["linear"](q, wq, bq)
            packed = (
                F["linear"](k, wkv, bkv).unflatten(-1, (2, e)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
            )
            return query, packed[0], packed[1]
        if self.same:
            weights = self.in_proj_weight.chunk(3)
        else:
            weights = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        biases = bias.chunk(3) if bias is not None else (None,) * 3
        return tuple(F["linear"](x, w, b) for x, w, b in zip((q, k, v), weights, biases, strict=True))

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> Any:
        unbatched = len(query.shape) == 2
        if self.batch_first and not unbatched:
            if key is value:
                if query is key:
                    query = key = value = query.transpose(1, 0)
                else:
                    query, key = query.transpose(1, 0), key.transpose(1, 0)
                    value = key
            else:
                query, key, value = (x.transpose(1, 0) for x in (query, key, value))
        if unbatched:
            same = query is key and key is value
            query = query.unsqueeze(1)
            key, value = (query, query) if same else (key.unsqueeze(1), value.unsqueeze(1))
        t, b, e = query.shape
        s, h, d = key.shape[0], self.num_heads, self.head_dim
        if key_padding_mask is not None and key_padding_mask.dtype is dtypes.bool_:
            key_padding_mask = new(key_padding_mask.shape, query.dtype, query.storage.device)
        if attn_mask is not None and attn_mask.dtype is dtypes.bool_:
            attn_mask = new(attn_mask.shape, query.dtype, query.storage.device)
        if is_causal and key_padding_mask is None and not need_weights:
            attn_mask = None
        elif is_causal and key_padding_mask is not None:
            is_causal = False
        else:
            is_causal = is_causal and not need_weights
        q, k, v = self._projections(query, key, value)
        if attn_mask is not None and len(attn_mask.shape) == 2:
            attn_mask = attn_mask.unsqueeze(0)
        q = q.view(t, b * h, d).transpose(0, 1)
        k = k.view(s, b * h, d).transpose(0, 1)
        v = v.view(s, b * h, d).transpose(0, 1)
        if key_padding_mask is not None:
            padding = key_padding_mask.view(b, 1, 1, s).expand(-1, h, -1, -1).reshape(b * h, 1, s)
            attn_mask = padding if attn_mask is None else attn_mask + padding
        p = self.dropout if self.training else 0.0
        if need_weights:
            scaled = mul(q, d**-0.5)
            weights = (
                baddbmm(attn_mask, scaled, k.transpose(-2, -1))
                if attn_mask is not None
                else bmm(scaled, k.transpose(-2, -1))
            )
            weights = softmax(weights, -1)
            if p > 0:
                weights = F["dropout"](weights, p)
            out = bmm(weights, v).transpose(0, 1).contiguous().view(t * b, e)
            out = self.out_proj(out).view(t, b, e)
            weights = weights.view(b, h, t, s)
            if average_attn_weights:
                weights = weights.mean(1)
            if unbatched:
                return out.squeeze(1), weights.squeeze(0)
            return (out.transpose(1, 0) if self.batch_first else out), weights
        if attn_mask is not None:
            attn_mask = (
                attn_mask.unsqueeze(0)
                if attn_mask.shape[0] == 1 and len(attn_mask.shape) == 3
                else attn_mask.view(b, h, -1, s)
            )
        q, k, v = q.view(b, h, t, d), k.view(b, h, s, d), v.view(b, h, s, d)
        out = F["scaled_dot_product_attention"](q, k, v, attn_mask, p, is_causal)
        out = out.permute(2, 0, 1, 3).contiguous().view(b * t, e)
        out = self.out_proj(out).view(t, b, e)
        if unbatched:
            return out.squeeze(1), None
        return (out.transpose(1, 0) if self.batch_first else out), None


def _activation(activation: Any) -> Any:
    return F[activation] if isinstance(activation, str) else activation


class TransformerEncoderLayer(Module):
    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout, bias, batch_first=batch_first, device=device, dtype=dtype
        )
        self.linear1 = Linear(d_model, dim_feedforward, bias, device, dtype)
        self.dropout = FUNCTIONS_AS_MODULES["Dropout"](dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, device, dtype)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)
        self.dropout1, self.dropout2 = (
            FUNCTIONS_AS_MODULES["Dropout"](dropout),
            FUNCTIONS_AS_MODULES["Dropout"](dropout),
        )
        self.activation = _activation(activation)

    # Subclasses that write their own forward call the two halves by the names that torch gives them.

    def _sa_block(self, x: Tensor, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False) -> Any:
        attended = self.self_attn(
            x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=False, is_causal=is_causal
        )
        return self.dropout1(attended[0])

    def _ff_block(self, x: Tensor) -> Any:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))

    def forward(
        self, src: Tensor, src_mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool = False
    ) -> Any:
        x = src
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), src_mask, src_key_padding_mask, is_causal)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(x + self._sa_block(x, src_mask, src_key_padding_mask, is_causal))
        return self.norm2(x + self._ff_block(x))


class TransformerDecoderLayer(Module):
    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout, bias, batch_first=batch_first, device=device, dtype=dtype
        )
        self.multihead_attn = MultiheadAttention(
            d_model, nhead, dropout, bias, batch_first=batch_first, device=device, dtype=dtype
        )
        self.linear1 = Linear(d_model, dim_feedforward, bias, device, dtype)
        self.dropout = FUNCTIONS_AS_MODULES["Dropout"](dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, device, dtype)
        self.norm_first = norm_first
        for i in (1, 2, 3):
            setattr(self, f"norm{i}", LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype))
            setattr(self, f"dropout{i}", FUNCTIONS_AS_MODULES["Dropout"](dropout))
        self.activation = _activation(activation)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Any:
        def attend(x: Tensor) -> Any:
            return self.dropout1(
                self.self_attn(
                    x,
                    x,
                    x,
                    attn_mask=tgt_mask,
                    key_padding_mask=tgt_key_padding_mask,
                    is_causal=tgt_is_causal,
                    need_weights=False,
                )[0]
            )

        def cross(x: Tensor) -> Any:
            return self.dropout2(
                self.multihead_attn(
                    x,
                    memory,
                    memory,
                    attn_mask=memory_mask,
                    key_padding_mask=memory_key_padding_mask,
                    is_causal=memory_is_causal,
                    need_weights=False,
                )[0]
            )

        def feed(x: Tensor) -> Any:
            return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))

        x = tgt
        if self.norm_first:
            x = x + attend(self.norm1(x))
            x = x + cross(self.norm2(x))
            return x + feed(self.norm3(x))
        x = self.norm1(x + attend(x))
        x = self.norm2(x + cross(x))
        return self.norm3(x + feed(x))


class TransformerEncoder(Module):
    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = ModuleList([deepcopy(encoder_layer) for _ in range(num_layers)])
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self, src: Tensor, mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool | None = None
    ) -> Any:
        out = src
        causal = bool(is_causal) if is_causal is not None else False
        if src_key_padding_mask is not None and src_key_padding_mask.dtype is dtypes.bool_:
            src_key_padding_mask = new(src_key_padding_mask.shape, src.dtype, src.storage.device)
        for layer in self.layers:
            out = layer(out, src_mask=mask, src_key_padding_mask=src_key_padding_mask, is_causal=causal)
        return out if self.norm is None else self.norm(out)


class TransformerDecoder(Module):
    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = ModuleList([deepcopy(decoder_layer) for _ in range(num_layers)])
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Any:
        out = tgt
        for layer in self.layers:
            out = layer(
                out,
                memory,
                tgt_mask,
                memory_mask,
                tgt_key_padding_mask,
                memory_key_padding_mask,
                bool(tgt_is_causal),
                memory_is_causal,
            )
        return out if self.norm is None else self.norm(out)


class Transformer(Module):
    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = "relu",
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        rest = (
            d_model,
            nhead,
            dim_feedforward,
            dropout,
            activation,
            layer_norm_eps,
            batch_first,
            norm_first,
            bias,
            device,
            dtype,
        )
        norms = [LayerNorm(d_model, layer_norm_eps, device=device, dtype=dtype) for _ in range(2)]
        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*rest), num_encoder_layers, norms[0]
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*rest), num_decoder_layers, norms[1]
        )
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Any = None,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        src_key_padding_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        src_is_causal: Any = None,
        tgt_is_causal: Any = None,
        memory_is_causal: bool = False,
    ) -> Any:
        memory = self.encoder(src, src_mask, src_key_padding_mask)
        return self.decoder(
            tgt,
            memory,
            tgt_mask,
            memory_mask,
            tgt_key_padding_mask,
            memory_key_padding_mask,
            tgt_is_causal,
            memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: DType | None = None) -> Tensor:
        from engine.memory.tensors.storage import device_kind

        return new((sz, sz), dtype or machine.current.default_dtype, device_kind(device))
