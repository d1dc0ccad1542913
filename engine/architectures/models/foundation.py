"""What the transformer families share: outputs, masks, attention, caches, losses and the base class of every model."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.utils.checkpoint


class ModelOutput:
    """Fields by attribute, by key, and by position among those that are set."""

    def __init__(self, **fields):
        for name, value in fields.items():
            setattr(self, name, value)
        self.names = [name for name, value in fields.items() if value is not None]

    def keys(self):
        return list(self.names)

    def values(self):
        return [getattr(self, name) for name in self.names]

    def items(self):
        return [(name, getattr(self, name)) for name in self.names]

    def get(self, name, default=None):
        return getattr(self, name) if name in self.names else default

    def to_tuple(self):
        return tuple(self.values())

    def __contains__(self, name):
        return name in self.names

    def __iter__(self):
        return iter(self.names)

    def __len__(self):
        return len(self.names)

    def __getitem__(self, key):
        if isinstance(key, str):
            return getattr(self, key)
        return self.to_tuple()[key]

    def __setitem__(self, name, value):
        if name not in self.names:
            self.names.append(name)
        setattr(self, name, value)


# Activations


class NewGELU(nn.Module):
    """The tanh approximation written out in pointwise operations: each keeps what its own backward needs."""

    def forward(self, x):
        return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


class FastGELU(nn.Module):
    def forward(self, x):
        return 0.5 * x * (1.0 + torch.tanh(x * 0.7978845608 * (1.0 + 0.044715 * x * x)))


class QuickGELU(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(1.702 * x)


class SquaredReLU(nn.Module):
    def forward(self, x):
        return torch.square(F.relu(x))


def activation(name):
    if name == "gelu":
        return nn.GELU()
    if name == "gelu_new":
        return NewGELU()
    if name == "gelu_pytorch_tanh":
        return nn.GELU(approximate="tanh")
    if name == "gelu_fast":
        return FastGELU()
    if name == "quick_gelu":
        return QuickGELU()
    if name == "silu" or name == "swish":
        return nn.SiLU()
    if name == "relu":
        return nn.ReLU()
    if name == "relu2":
        return SquaredReLU()
    if name == "tanh":
        return nn.Tanh()
    if name == "sigmoid":
        return nn.Sigmoid()
    if name == "hardswish":
        return nn.Hardswish()
    if name == "mish":
        return nn.Mish()
    if name == "leaky_relu":
        return nn.LeakyReLU()
    raise KeyError(name)


# Key and value caches


class CacheLayer:
    """The keys and values of one layer, (batch, heads, length, head_dim); grows by concatenation."""

    def __init__(self):
        self.keys = None
        self.values = None

    def update(self, keys, values):
        if self.keys is None:
            # the library concatenates onto an empty tensor, so the first update copies too
            self.keys = torch.cat([keys], dim=-2)
            self.values = torch.cat([values], dim=-2)
        else:
            self.keys = torch.cat([self.keys, keys], dim=-2)
            self.values = torch.cat([self.values, values], dim=-2)
        return self.keys, self.values

    def length(self):
        return 0 if self.keys is None else self.keys.shape[-2]


class DynamicCache:
    def __init__(self, config=None):
        self.layers = []

    def update(self, keys, values, layer_idx):
        while len(self.layers) <= layer_idx:
            self.layers.append(CacheLayer())
        return self.layers[layer_idx].update(keys, values)

    def get_seq_length(self, layer_idx=0):
        return self.layers[layer_idx].length() if len(self.layers) > layer_idx else 0

    def extend(self, extra):
        """Make room as if `extra` further tokens had been decoded."""
        for layer in self.layers:
            for name in ("keys", "values"):
                kept = getattr(layer, name)
                grown = kept.new_empty(kept.shape[0], kept.shape[1], kept.shape[2] + extra, kept.shape[3])
                del kept
                setattr(layer, name, grown)
                del grown


class EncoderDecoderCache:
    def __init__(self, self_attention_cache=None, cross_attention_cache=None):
        self.self_attention_cache = self_attention_cache if self_attention_cache is not None else DynamicCache()
        self.cross_attention_cache = cross_attention_cache if cross_attention_cache is not None else DynamicCache()
        self.is_updated = {}

    def get_seq_length(self, layer_idx=0):
        return self.self_attention_cache.get_seq_length(layer_idx)

    def extend(self, extra):
        self.self_attention_cache.extend(extra)


# Masks


def attended_everywhere(mask):
    """Whether no position is masked. The interpreter answers for tensors without data."""
    return bool(mask.all())


def _offsets(inputs, query_length, key_length, past):
    rows = torch.arange(query_length, device=inputs.device) + past
    columns = torch.arange(key_length, device=inputs.device)
    return rows[None, None, :, None], columns[None, None, None, :]


def _for_eager(config, mask, dtype):
    if config._attn_implementation == "eager":
        return torch.where(mask, torch.zeros((), device=mask.device, dtype=dtype), torch.finfo(dtype).min)
    return mask


def causal_mask(config, inputs, attention_mask=None, past=0, window=None, always=False):
    """None where the kernel's own causal flag is enough and not `always` a mask is wanted.

    Else (batch, 1, query, key), boolean for sdpa and additive for eager.
    """
    if attention_mask is not None and attention_mask.dim() == 4:
        return attention_mask
    batch, query_length = inputs.shape[0], inputs.shape[1]
    key_length = past + query_length
    if config._attn_implementation.startswith("flash"):
        return None
    local = window is not None and key_length >= window
    if config._attn_implementation == "sdpa" and not always and not local and (query_length == 1 or past == 0):
        if attention_mask is None or attended_everywhere(attention_mask):
            return None
    rows, columns = _offsets(inputs, query_length, key_length, past)
    mask = columns <= rows
    if window is not None:
        mask = (columns > rows - window) & mask
    if attention_mask is not None:
        mask = mask & attention_mask[:, None, None, :].to(torch.bool)
    return _for_eager(config, mask.expand(batch, -1, query_length, key_length), inputs.dtype)


def bidirectional_mask(config, inputs, attention_mask=None, keys=None, window=None):
    """None where every position attends to every other."""
    if attention_mask is not None and attention_mask.dim() == 4:
        return attention_mask
    batch, query_length = inputs.shape[0], inputs.shape[1]
    key_length = query_length if keys is None else keys.shape[1]
    if config._attn_implementation.startswith("flash"):
        return None
    local = window is not None and key_length >= window
    if not local and (attention_mask is None or attended_everywhere(attention_mask)):
        return None
    rows, columns = _offsets(inputs, query_length, key_length, 0)
    mask = rows >= 0
    if window is not None:
        mask = (torch.abs(rows - columns) <= window) & mask
    if attention_mask is not None:
        mask = mask & attention_mask[:, None, None, :].to(torch.bool)
    return _for_eager(config, mask.expand(batch, -1, query_length, key_length), inputs.dtype)


# Attention


def repeat_kv(states, groups):
    batch, heads, length, head_dim = states.shape
    if groups == 1:
        return states
    states = states[:, :, None, :, :].expand(batch, heads, groups, length, head_dim)
    return states.reshape(batch, heads * groups, length, head_dim)


def attend(config, query, key, value, mask, dropout=0.0, scaling=None, groups=1, causal=True, softmax="plain", softcap=None, position_bias=None):
    """(batch, heads, length, head_dim) in, (batch, length, heads, head_dim) out.

    `softmax` matters in eager attention only: "plain", "cast" (its result is cast to the dtype of the values) or
    "float32" (computed in float32, then cast to the dtype of the queries).
    """
    if config._attn_implementation == "eager" or softcap is not None:
        if groups > 1:
            key = repeat_kv(key, groups)
            value = repeat_kv(value, groups)
        weights = torch.matmul(query, key.transpose(2, 3)) * scaling
        if softcap is not None:
            weights = weights / softcap
            weights = torch.tanh(weights)
            weights = weights * softcap
        if position_bias is not None:
            weights = weights + position_bias
        if mask is not None:
            weights = weights + mask
        if softmax == "float32":
            weights = F.softmax(weights, dim=-1, dtype=torch.float32).to(query.dtype)
        else:
            weights = F.softmax(weights, dim=-1)
            if softmax == "cast":
                weights = weights.to(value.dtype)
        weights = F.dropout(weights, p=dropout, training=dropout > 0.0)
        return torch.matmul(weights, value).transpose(1, 2).contiguous()
    length = query.shape[2]
    grouped = False
    if groups > 1:
        if mask is None:
            grouped = True
        elif length == 1:
            query = query.reshape(query.shape[0], query.shape[1] // groups, groups, query.shape[3])
        else:
            key = repeat_kv(key, groups)
            value = repeat_kv(value, groups)
    flag = causal and length > 1 and mask is None
    if flag and key.shape[2] > length:
        key = key[:, :, :length, :]
        value = value[:, :, :length, :]
    if position_bias is not None:
        mask = bias_mask(position_bias, mask, flag, query, key)
        flag = False
    if grouped:
        output = F.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, dropout_p=dropout, scale=scaling, is_causal=flag, enable_gqa=True
        )
    else:
        output = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout, scale=scaling, is_causal=flag)
    output = output.reshape(output.shape[0], -1, length, value.shape[-1])
    return output.transpose(1, 2).contiguous()


def bias_mask(position_bias, mask, causal, query, key):
    """The additive mask that carries a learned position bias, made anew in every layer."""
    lowest = torch.finfo(key.dtype).min
    if mask is None:
        if not causal:
            return position_bias.contiguous()
        rows = torch.arange(query.shape[2], device=key.device)[:, None]
        columns = torch.arange(key.shape[2], device=key.device)[None, :]
        allowed = (rows >= columns).view(1, 1, query.shape[2], key.shape[2])
        return torch.where(allowed, position_bias, lowest).contiguous()
    if mask.dtype == torch.bool:
        return torch.where(mask, position_bias, lowest).contiguous()
    return (position_bias + mask).contiguous()


def shift_right(ids, pad_token_id, start_token_id):
    """Decoder inputs from labels."""
    shifted = ids.new_zeros(ids.shape)
    shifted[:, 1:] = ids[:, :-1].clone()
    shifted[:, 0] = start_token_id
    shifted.masked_fill_(shifted == -100, pad_token_id)
    return shifted


# Losses


def causal_lm_loss(logits, labels, vocab_size, num_items_in_batch=None, ignore_index=-100):
    """Next-token cross entropy in float32; the labels are shifted, the logits are not."""
    logits = logits.float()
    labels = F.pad(labels, (0, 1), value=ignore_index)
    shift_labels = labels[..., 1:].contiguous()
    logits = logits.view(-1, vocab_size)
    shift_labels = shift_labels.view(-1)
    if num_items_in_batch is not None:
        return F.cross_entropy(logits, shift_labels, ignore_index=ignore_index, reduction="sum") / num_items_in_batch
    return F.cross_entropy(logits, shift_labels, ignore_index=ignore_index)


def masked_lm_loss(logits, labels, vocab_size):
    logits = logits.float()
    logits = logits.view(-1, vocab_size)
    return F.cross_entropy(logits, labels.view(-1))


def classification_loss(logits, labels, config):
    problem = config.problem_type
    if problem is None:
        if config.num_labels == 1:
            problem = "regression"
        elif labels.dtype == torch.long or labels.dtype == torch.int:
            problem = "single_label_classification"
        else:
            problem = "multi_label_classification"
    if problem == "regression":
        if config.num_labels == 1:
            return F.mse_loss(logits.squeeze(), labels.squeeze())
        return F.mse_loss(logits, labels)
    if problem == "single_label_classification":
        return F.cross_entropy(logits.view(-1, config.num_labels), labels.view(-1))
    return F.binary_cross_entropy_with_logits(logits, labels)


def token_loss(logits, labels, config):
    return F.cross_entropy(logits.view(-1, config.num_labels), labels.view(-1))


def span_loss(start_logits, end_logits, start_positions, end_positions):
    length = start_logits.size(1)
    start_positions = start_positions.clamp(0, length)
    end_positions = end_positions.clamp(0, length)
    start_loss = F.cross_entropy(start_logits, start_positions, ignore_index=length)
    end_loss = F.cross_entropy(end_logits, end_positions, ignore_index=length)
    return (start_loss + end_loss) / 2


# The base class


class PreTrainedModel(nn.Module):
    base_model_prefix = ""

    def __init__(self, config):
        super().__init__()
        self.config = config

    @property
    def device(self):
        return next(self.parameters()).device

    @property
    def dtype(self):
        return next(self.parameters()).dtype

    @property
    def base_model(self):
        return getattr(self, self.base_model_prefix, self)

    def layer_call(self, layer, hidden_states, *inputs, **settings):
        """One layer, run in a checkpoint where gradient checkpointing is on."""
        if self.gradient_checkpointing and self.training and torch.is_grad_enabled():
            if "cache" in settings:
                settings["cache"] = None
            reentrant = getattr(self, "checkpoint_reentrant", False)
            return torch.utils.checkpoint.checkpoint(
                lambda *tensors: layer(*tensors, **settings), hidden_states, *inputs, use_reentrant=reentrant
            )
        return layer(hidden_states, *inputs, **settings)

    def new_cache(self, cache, use_cache):
        """The cache to fill: the one given, a new one where the configuration keeps keys and values, else None."""
        if use_cache is None:
            use_cache = self.config.use_cache
        if self.gradient_checkpointing and self.training and torch.is_grad_enabled():
            use_cache = False
        if use_cache and cache is None:
            return DynamicCache()
        return cache

    def wants_hidden_states(self, asked):
        return self.config.output_hidden_states if asked is None else asked

    def gradient_checkpointing_enable(self, gradient_checkpointing_kwargs=None):
        reentrant = False
        if gradient_checkpointing_kwargs is not None:
            reentrant = gradient_checkpointing_kwargs.get("use_reentrant", False)
        for module in self.modules():
            if hasattr(module, "gradient_checkpointing"):
                module.gradient_checkpointing = True
                module.checkpoint_reentrant = reentrant

    def gradient_checkpointing_disable(self):
        for module in self.modules():
            if hasattr(module, "gradient_checkpointing"):
                module.gradient_checkpointing = False

    @property
    def is_gradient_checkpointing(self):
        for module in self.modules():
            if getattr(module, "gradient_checkpointing", False):
                return True
        return False

    def get_input_embeddings(self):
        return self.base_model.get_input_embeddings()

    def get_output_embeddings(self):
        return getattr(self, "lm_head", None)

    def enable_input_require_grads(self):
        self.get_input_embeddings().register_forward_hook(lambda module, inputs, output: output.requires_grad_(True))

    def tie_weights(self):
        head = self.get_output_embeddings()
        if head is not None and self.config.tie_word_embeddings:
            head.weight = self.get_input_embeddings().weight

    def resize_token_embeddings(self, new_num_tokens=None, pad_to_multiple_of=None, mean_resizing=True):
        embeddings = self.get_input_embeddings()
        count = embeddings.weight.shape[0] if new_num_tokens is None else new_num_tokens
        if pad_to_multiple_of is not None:
            count = (count + pad_to_multiple_of - 1) // pad_to_multiple_of * pad_to_multiple_of
        old = embeddings.weight
        if count == old.shape[0]:
            return embeddings
        head = self.get_output_embeddings()
        tied = head is not None and head.weight is old
        embeddings.weight = nn.Parameter(torch.empty(count, old.shape[1], dtype=old.dtype, device=old.device))
        embeddings.num_embeddings = count
        if tied:
            head.weight = embeddings.weight
        elif head is not None:
            kept = head.weight
            head.weight = nn.Parameter(torch.empty(count, kept.shape[1], dtype=kept.dtype, device=kept.device))
        if head is not None:
            head.out_features = count
            if getattr(head, "bias", None) is not None:
                head.bias = nn.Parameter(torch.empty(count, dtype=head.bias.dtype, device=head.bias.device))
        self.config.vocab_size = count
        return embeddings

    def num_parameters(self, only_trainable=False, exclude_embeddings=False):
        return sum(p.numel() for p in self.parameters() if p.requires_grad or not only_trainable)

    def save_pretrained(self, *args, **kwargs):
        return None

    def push_to_hub(self, *args, **kwargs):
        return None

    def post_init(self):
        return None

    def init_weights(self):
        return None

    def decode_step(self, tokens, mask, position, cache, do_sample, top_k, top_p):
        output = self(
            input_ids=tokens, attention_mask=mask, past_key_values=cache, use_cache=True, position_ids=position, logits_to_keep=1
        )
        logits = output.logits[:, -1, :].to(copy=True, dtype=torch.float32)
        del output
        if not do_sample:
            return torch.argmax(logits, dim=-1, keepdim=True)
        if top_k:
            logits = logits.masked_fill(logits < torch.topk(logits, top_k)[0][..., -1, None], -float("inf"))
        if top_p < 1.0:
            ordered, order = torch.sort(logits, descending=False)
            removed = ordered.softmax(-1).cumsum(-1) <= 1 - top_p
            logits = logits.masked_fill(removed.scatter(1, order, removed), -float("inf"))
        return torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)

    def generate(
        self,
        input_ids=None,
        attention_mask=None,
        max_new_tokens=None,
        max_length=None,
        do_sample=False,
        num_beams=1,
        num_return_sequences=1,
        top_k=50,
        top_p=1.0,
        **kwargs,
    ):
        """Prefill, then the last decoding steps with a cache of the final length: memory grows with the cache only."""
        with torch.no_grad():
            copies = max(num_beams, num_return_sequences)
            if copies > 1:
                input_ids = input_ids.repeat_interleave(copies, dim=0)
            batch, prompt = input_ids.shape
            if max_new_tokens is None:
                max_new_tokens = 20 if max_length is None else max(1, max_length - prompt)
            if attention_mask is None:
                attention_mask = torch.ones_like(input_ids)
            elif copies > 1:
                attention_mask = attention_mask.repeat_interleave(copies, dim=0)
            cache = DynamicCache()
            positions = torch.arange(prompt, device=input_ids.device).unsqueeze(0)
            tokens = self.decode_step(input_ids, attention_mask, positions, cache, do_sample, top_k, top_p)
            skipped = max(0, max_new_tokens - 4)
            if skipped:
                cache.extend(skipped)
            length = prompt + skipped
            for _ in range(min(3, max_new_tokens - 1)):
                mask = torch.ones(batch, length + 1, dtype=torch.long, device=input_ids.device)
                position = torch.full((1, 1), length, device=input_ids.device)
                tokens = self.decode_step(tokens, mask, position, cache, do_sample, top_k, top_p)
                length = length + 1
            return torch.zeros(batch, prompt + max_new_tokens, dtype=torch.long, device=input_ids.device)


def keep_last(hidden_states, logits_to_keep):
    if logits_to_keep:
        return hidden_states[:, -logits_to_keep:, :]
    return hidden_states


def last_token_logits(logits, input_ids, config):
    """The logits of each row's last token that is not padding."""
    rows = torch.arange(logits.shape[0], device=logits.device)
    if config.pad_token_id is None or input_ids is None:
        return logits[rows, -1]
    kept = (input_ids != config.pad_token_id).to(torch.int32)
    positions = torch.arange(input_ids.shape[-1], device=logits.device, dtype=torch.int32)
    return logits[rows, (positions * kept).argmax(-1)]
