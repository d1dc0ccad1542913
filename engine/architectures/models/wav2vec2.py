"""wav2vec 2.0 and HuBERT: a stack of convolutions over the waveform, then a transformer encoder."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.utils.checkpoint

from engine.architectures.models.foundation import (
    ModelOutput,
    PreTrainedModel,
    activation,
    attend,
    bidirectional_mask,
)


class ConvLayer(nn.Module):
    """One convolution over time; `norm` is "none", "layer" or "group"."""

    def __init__(self, config, index, norm):
        super().__init__()
        inputs = config.conv_dim[index - 1] if index > 0 else 1
        width = config.conv_dim[index]
        self.norm = norm
        self.conv = nn.Conv1d(
            inputs, width, kernel_size=config.conv_kernel[index], stride=config.conv_stride[index], bias=config.conv_bias
        )
        if norm == "layer":
            self.layer_norm = nn.LayerNorm(width)
        elif norm == "group":
            self.layer_norm = nn.GroupNorm(num_groups=width, num_channels=width)
        self.activation = activation(config.feat_extract_activation)

    def forward(self, hidden_states):
        hidden_states = self.conv(hidden_states)
        if self.norm == "layer":
            hidden_states = hidden_states.transpose(-2, -1)
            hidden_states = self.layer_norm(hidden_states)
            hidden_states = hidden_states.transpose(-2, -1)
        elif self.norm == "group":
            hidden_states = self.layer_norm(hidden_states)
        return self.activation(hidden_states)


class Wav2Vec2FeatureEncoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        layers = []
        for index in range(len(config.conv_dim)):
            norm = "layer" if config.feat_extract_norm == "layer" else "group" if index == 0 else "none"
            layers.append(ConvLayer(config, index, norm))
        self.conv_layers = nn.ModuleList(layers)
        self.gradient_checkpointing = False
        self.trained = True

    def _freeze_parameters(self):
        for parameter in self.parameters():
            parameter.requires_grad = False
        self.trained = False

    def forward(self, input_values):
        hidden_states = input_values[:, None]
        if self.trained and self.training:
            hidden_states.requires_grad = True
        for layer in self.conv_layers:
            if self.gradient_checkpointing and self.training and torch.is_grad_enabled():
                hidden_states = torch.utils.checkpoint.checkpoint(layer, hidden_states, use_reentrant=False)
            else:
                hidden_states = layer(hidden_states)
        return hidden_states


class Wav2Vec2FeatureProjection(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.layer_norm = None
        if getattr(config, "feat_proj_layer_norm", True):
            self.layer_norm = nn.LayerNorm(config.conv_dim[-1], eps=config.layer_norm_eps)
        self.projection = nn.Linear(config.conv_dim[-1], config.hidden_size)
        self.dropout = nn.Dropout(config.feat_proj_dropout)

    def forward(self, hidden_states):
        normed = hidden_states if self.layer_norm is None else self.layer_norm(hidden_states)
        return self.dropout(self.projection(normed)), normed


class Wav2Vec2PositionalConvEmbedding(nn.Module):
    """Positions by a wide grouped convolution whose weight is kept as direction and length."""

    def __init__(self, config):
        super().__init__()
        width = config.num_conv_pos_embeddings
        conv = nn.Conv1d(
            config.hidden_size,
            config.hidden_size,
            kernel_size=width,
            padding=width // 2,
            groups=config.num_conv_pos_embedding_groups,
        )
        self.batch_norm = None
        if getattr(config, "conv_pos_batch_norm", False):
            self.batch_norm = nn.BatchNorm1d(config.hidden_size)
            self.conv = conv
        else:
            self.conv = nn.utils.parametrizations.weight_norm(conv, name="weight", dim=2)
        self.surplus = 1 if width % 2 == 0 else 0
        self.activation = activation(config.feat_extract_activation)

    def forward(self, hidden_states):
        hidden_states = hidden_states.transpose(1, 2)
        if self.batch_norm is not None:
            hidden_states = self.batch_norm(hidden_states)
        hidden_states = self.conv(hidden_states)
        if self.surplus:
            hidden_states = hidden_states[:, :, : -self.surplus]
        hidden_states = self.activation(hidden_states)
        return hidden_states.transpose(1, 2)


class Wav2Vec2Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.head_dim = config.hidden_size // config.num_attention_heads
        self.scaling = self.head_dim**-0.5
        self.k_proj = nn.Linear(config.hidden_size, config.hidden_size)
        self.v_proj = nn.Linear(config.hidden_size, config.hidden_size)
        self.q_proj = nn.Linear(config.hidden_size, config.hidden_size)
        self.out_proj = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, hidden_states, attention_mask=None):
        shape = (hidden_states.shape[0], hidden_states.shape[1], -1, self.head_dim)
        query = self.q_proj(hidden_states).view(shape).transpose(1, 2)
        key = self.k_proj(hidden_states).view(shape).transpose(1, 2)
        value = self.v_proj(hidden_states).view(shape).transpose(1, 2)
        dropout = self.config.attention_dropout if self.training else 0.0
        output = attend(self.config, query, key, value, attention_mask, dropout, self.scaling, causal=False)
        return self.out_proj(output.reshape(output.shape[0], output.shape[1], -1))


class Wav2Vec2FeedForward(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.intermediate_dropout = nn.Dropout(config.activation_dropout)
        self.intermediate_dense = nn.Linear(config.hidden_size, config.intermediate_size)
        self.intermediate_act_fn = activation(config.hidden_act)
        self.output_dense = nn.Linear(config.intermediate_size, config.hidden_size)
        self.output_dropout = nn.Dropout(config.hidden_dropout)

    def forward(self, hidden_states):
        hidden_states = self.intermediate_dense(hidden_states)
        hidden_states = self.intermediate_act_fn(hidden_states)
        hidden_states = self.intermediate_dropout(hidden_states)
        hidden_states = self.output_dense(hidden_states)
        return self.output_dropout(hidden_states)


class Wav2Vec2EncoderLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.attention = Wav2Vec2Attention(config)
        self.dropout = nn.Dropout(config.hidden_dropout)
        self.layer_norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.feed_forward = Wav2Vec2FeedForward(config)
        self.final_layer_norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)

    def forward(self, hidden_states, attention_mask=None):
        residual = hidden_states
        hidden_states = self.attention(hidden_states, attention_mask)
        hidden_states = self.dropout(hidden_states)
        hidden_states = residual + hidden_states
        hidden_states = self.layer_norm(hidden_states)
        hidden_states = hidden_states + self.feed_forward(hidden_states)
        return self.final_layer_norm(hidden_states)


class Wav2Vec2EncoderLayerStableLayerNorm(Wav2Vec2EncoderLayer):
    """Norms before the branches."""

    def forward(self, hidden_states, attention_mask=None):
        residual = hidden_states
        hidden_states = self.layer_norm(hidden_states)
        hidden_states = self.attention(hidden_states, attention_mask)
        hidden_states = self.dropout(hidden_states)
        hidden_states = residual + hidden_states
        return hidden_states + self.feed_forward(self.final_layer_norm(hidden_states))


class Wav2Vec2Encoder(nn.Module):
    """Skipped layers (layerdrop) are run: a peak over many steps is that of a step which skips none."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.stable = config.do_stable_layer_norm
        layer_class = Wav2Vec2EncoderLayerStableLayerNorm if self.stable else Wav2Vec2EncoderLayer
        self.pos_conv_embed = Wav2Vec2PositionalConvEmbedding(config)
        self.layer_norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout)
        self.layers = nn.ModuleList([layer_class(config) for _ in range(config.num_hidden_layers)])

    def embed(self, hidden_states, attention_mask):
        """The input of the first layer, and the mask of all."""
        if attention_mask is not None:
            expanded = attention_mask.unsqueeze(-1).repeat(1, 1, hidden_states.shape[2])
            hidden_states[~expanded] = 0
        mask = bidirectional_mask(self.config, hidden_states, attention_mask)
        positions = self.pos_conv_embed(hidden_states)
        hidden_states = hidden_states + positions
        if not self.stable:
            hidden_states = self.layer_norm(hidden_states)
        return self.dropout(hidden_states), mask

    def finish(self, hidden_states):
        return self.layer_norm(hidden_states) if self.stable else hidden_states


class Wav2Vec2PreTrainedModel(PreTrainedModel):
    base_model_prefix = "wav2vec2"

    def get_input_embeddings(self):
        return self.base_model.feature_extractor

    def frames(self, samples):
        """How many frames the convolutions leave of a waveform."""
        for kernel, stride in zip(self.config.conv_kernel, self.config.conv_stride):
            samples = torch.div(samples - kernel, stride, rounding_mode="floor") + 1
        return samples

    def frame_mask(self, length, attention_mask):
        lengths = self.frames(attention_mask.cumsum(dim=-1)[:, -1]).to(torch.long)
        rows = torch.arange(attention_mask.shape[0], device=attention_mask.device)
        mask = torch.zeros((attention_mask.shape[0], length), dtype=attention_mask.dtype, device=attention_mask.device)
        mask[(rows, lengths - 1)] = 1
        return mask.flip([-1]).cumsum(-1).flip([-1]).bool()

    def freeze_feature_encoder(self):
        self.base_model.feature_extractor._freeze_parameters()

    def freeze_feature_extractor(self):
        self.freeze_feature_encoder()

    def freeze_base_model(self):
        for parameter in self.base_model.parameters():
            parameter.requires_grad = False


class Wav2Vec2Model(Wav2Vec2PreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.feature_extractor = Wav2Vec2FeatureEncoder(config)
        self.feature_projection = Wav2Vec2FeatureProjection(config)
        if config.mask_time_prob > 0.0 or config.mask_feature_prob > 0.0:
            self.masked_spec_embed = nn.Parameter(torch.empty(config.hidden_size))
        self.encoder = Wav2Vec2Encoder(config)
        self.gradient_checkpointing = False

    def mask_spans(self, hidden_states, mask_time_indices=None):
        """SpecAugment in place: spans of frames become one learned vector, spans of features zero."""
        if not getattr(self.config, "apply_spec_augment", True):
            return hidden_states
        batch, length, width = hidden_states.size()
        if mask_time_indices is None and self.config.mask_time_prob > 0 and self.training:
            mask_time_indices = torch.zeros(batch, length, dtype=torch.bool, device=hidden_states.device)
        if mask_time_indices is not None:
            hidden_states[mask_time_indices] = self.masked_spec_embed.to(hidden_states.dtype)
        if self.config.mask_feature_prob > 0 and self.training:
            spans = torch.zeros(batch, width, dtype=torch.bool, device=hidden_states.device)
            hidden_states[spans[:, None].expand(-1, length, -1)] = 0
        return hidden_states

    def forward(self, input_values=None, attention_mask=None, mask_time_indices=None, output_hidden_states=None, **kwargs):
        features = self.feature_extractor(input_values).transpose(1, 2)
        if attention_mask is not None:
            attention_mask = self.frame_mask(features.shape[1], attention_mask)
        hidden_states, features = self.feature_projection(features)
        hidden_states = self.mask_spans(hidden_states, mask_time_indices)
        hidden_states, mask = self.encoder.embed(hidden_states, attention_mask)
        wanted = self.wants_hidden_states(output_hidden_states)
        kept = ()
        for layer in self.encoder.layers:
            if wanted:
                kept = kept + (hidden_states,)
            hidden_states = self.layer_call(layer, hidden_states, attention_mask=mask)
        hidden_states = self.encoder.finish(hidden_states)
        if wanted:
            kept = kept + (hidden_states,)
        return self.output(hidden_states, features, kept if wanted else None)

    def output(self, hidden_states, features, kept):
        return ModelOutput(last_hidden_state=hidden_states, extract_features=features, hidden_states=kept)


class Wav2Vec2ForCTC(Wav2Vec2PreTrainedModel):
    model_class = Wav2Vec2Model

    def __init__(self, config):
        super().__init__(config)
        setattr(self, self.base_model_prefix, self.model_class(config))
        self.dropout = nn.Dropout(config.final_dropout)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size)

    def ctc_loss(self, logits, labels, lengths):
        targets = (labels != -100) & (labels != self.config.pad_token_id)
        target_lengths = targets.sum(-1)
        flattened = labels.masked_select(targets)
        log_probs = F.log_softmax(logits, dim=-1, dtype=torch.float32).transpose(0, 1)
        return F.ctc_loss(
            log_probs,
            flattened,
            lengths,
            target_lengths,
            blank=self.config.pad_token_id,
            reduction=self.config.ctc_loss_reduction,
            zero_infinity=self.config.ctc_zero_infinity,
        )

    def forward(self, input_values=None, attention_mask=None, labels=None, **kwargs):
        outputs = self.base_model(input_values, attention_mask=attention_mask, **kwargs)
        hidden_states = self.dropout(outputs.last_hidden_state)
        logits = self.lm_head(hidden_states)
        loss = None
        if labels is not None:
            if attention_mask is None:
                attention_mask = torch.ones_like(input_values, dtype=torch.long)
            lengths = self.frames(attention_mask.sum(-1)).to(torch.long)
            loss = self.ctc_loss(logits, labels, lengths)
        return ModelOutput(loss=loss, logits=logits, hidden_states=outputs.hidden_states)


class Wav2Vec2ForSequenceClassification(Wav2Vec2PreTrainedModel):
    model_class = Wav2Vec2Model

    def __init__(self, config):
        super().__init__(config)
        self.num_labels = config.num_labels
        setattr(self, self.base_model_prefix, self.model_class(config))
        if config.use_weighted_layer_sum:
            self.layer_weights = nn.Parameter(torch.ones(config.num_hidden_layers + 1))
        self.projector = nn.Linear(config.hidden_size, config.classifier_proj_size)
        self.classifier = nn.Linear(config.classifier_proj_size, config.num_labels)

    def forward(self, input_values=None, attention_mask=None, labels=None, **kwargs):
        if self.config.use_weighted_layer_sum:
            kwargs["output_hidden_states"] = True
        outputs = self.base_model(input_values, attention_mask=attention_mask, **kwargs)
        if self.config.use_weighted_layer_sum:
            hidden_states = torch.stack(outputs.hidden_states, dim=1)
            weights = F.softmax(self.layer_weights, dim=-1)
            hidden_states = (hidden_states * weights.view(-1, 1, 1)).sum(dim=1)
        else:
            hidden_states = outputs.last_hidden_state
        hidden_states = self.projector(hidden_states)
        if attention_mask is None:
            pooled = hidden_states.mean(dim=1)
        else:
            mask = self.frame_mask(hidden_states.shape[1], attention_mask)
            hidden_states[~mask.unsqueeze(-1).repeat(1, 1, hidden_states.shape[2])] = 0.0
            pooled = hidden_states.sum(dim=1) / mask.sum(dim=1).view(-1, 1)
        logits = self.classifier(pooled)
        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits.view(-1, self.config.num_labels), labels.view(-1))
        return ModelOutput(loss=loss, logits=logits, hidden_states=outputs.hidden_states)


class HubertModel(Wav2Vec2Model):
    """Does not hand the features back."""

    base_model_prefix = "hubert"

    def output(self, hidden_states, features, kept):
        return ModelOutput(last_hidden_state=hidden_states, hidden_states=kept)


class HubertForCTC(Wav2Vec2ForCTC):
    base_model_prefix = "hubert"
    model_class = HubertModel


class HubertForSequenceClassification(Wav2Vec2ForSequenceClassification):
    base_model_prefix = "hubert"
    model_class = HubertModel
