"""DeBERTa V2 and V3: disentangled attention between contents and relative positions."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from engine.architectures.models.foundation import (
    ModelOutput,
    PreTrainedModel,
    activation,
    classification_loss,
    span_loss,
    token_loss,
)


def relative_span(config):
    span = config.max_relative_positions
    return config.max_position_embeddings if span < 1 else span


class ResidualOutput(nn.Module):
    def __init__(self, config, width):
        super().__init__()
        self.dense = nn.Linear(width, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, hidden_states, residual):
        hidden_states = self.dense(hidden_states)
        hidden_states = self.dropout(hidden_states)
        return self.LayerNorm(hidden_states + residual)


def relative_positions(states, buckets, longest):
    """Distances between all pairs, in logarithmic buckets beyond half of them; (1, length, length)."""
    length = states.size(-2)
    ids = torch.arange(length, dtype=torch.long, device=states.device)
    relative = ids[:, None] - ids[None, :]
    if buckets > 0 and longest > 0:
        sign = torch.sign(relative)
        middle = buckets // 2
        near = (relative < middle) & (relative > -middle)
        distance = torch.where(near, torch.tensor(middle - 1).type_as(relative), torch.abs(relative))
        logarithm = torch.log(torch.tensor((longest - 1) / middle))
        bucket = torch.ceil(torch.log(distance / middle) / logarithm * (middle - 1)) + middle
        relative = torch.where(distance <= middle, relative.type_as(bucket), bucket * sign)
    return relative.to(torch.long).unsqueeze(0)


class DisentangledSelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.num_attention_heads = config.num_attention_heads
        self.query_proj = nn.Linear(config.hidden_size, config.hidden_size)
        self.key_proj = nn.Linear(config.hidden_size, config.hidden_size)
        self.value_proj = nn.Linear(config.hidden_size, config.hidden_size)
        self.share_att_key = config.share_att_key
        self.pos_att_type = config.pos_att_type if config.pos_att_type is not None else []
        self.relative_attention = config.relative_attention
        if config.relative_attention:
            self.span = config.position_buckets if config.position_buckets > 0 else relative_span(config)
            self.pos_dropout = nn.Dropout(config.hidden_dropout_prob)
            if not config.share_att_key:
                if "c2p" in self.pos_att_type:
                    self.pos_key_proj = nn.Linear(config.hidden_size, config.hidden_size)
                if "p2c" in self.pos_att_type:
                    self.pos_query_proj = nn.Linear(config.hidden_size, config.hidden_size)
        self.dropout = nn.Dropout(config.attention_probs_dropout_prob)

    def heads(self, x):
        x = x.view(x.shape[0], x.shape[1], self.num_attention_heads, -1)
        return x.permute(0, 2, 1, 3).contiguous().view(-1, x.size(1), x.size(-1))

    def forward(self, hidden_states, attention_mask, relative_pos=None, rel_embeddings=None):
        query = self.heads(self.query_proj(hidden_states))
        key = self.heads(self.key_proj(hidden_states))
        value = self.heads(self.value_proj(hidden_states))
        factor = 1
        if "c2p" in self.pos_att_type:
            factor = factor + 1
        if "p2c" in self.pos_att_type:
            factor = factor + 1
        scale = torch.sqrt(torch.tensor(query.size(-1), dtype=torch.float) * factor)
        scores = torch.bmm(query, key.transpose(-1, -2) / scale.to(dtype=query.dtype))
        if self.relative_attention:
            rel_embeddings = self.pos_dropout(rel_embeddings)
            bias = self.position_scores(query, key, relative_pos, rel_embeddings, factor)
            scores = scores + bias
        scores = scores.view(-1, self.num_attention_heads, scores.size(-2), scores.size(-1))
        attention_mask = attention_mask.bool()
        scores = scores.masked_fill(~(attention_mask), torch.finfo(query.dtype).min)
        probabilities = F.softmax(scores, dim=-1)
        probabilities = self.dropout(probabilities)
        context = torch.bmm(probabilities.view(-1, probabilities.size(-2), probabilities.size(-1)), value)
        context = context.view(-1, self.num_attention_heads, context.size(-2), context.size(-1)).permute(0, 2, 1, 3).contiguous()
        return context.view(context.shape[0], context.shape[1], -1)

    def position_scores(self, query, key, relative_pos, rel_embeddings, factor):
        span = self.span
        relative_pos = relative_pos.unsqueeze(1)
        copies = query.size(0) // self.num_attention_heads
        rel_embeddings = rel_embeddings[0 : span * 2, :].unsqueeze(0)
        pos_query = None
        pos_key = None
        if self.share_att_key:
            pos_query = self.heads(self.query_proj(rel_embeddings)).repeat(copies, 1, 1)
            pos_key = self.heads(self.key_proj(rel_embeddings)).repeat(copies, 1, 1)
        else:
            if "c2p" in self.pos_att_type:
                pos_key = self.heads(self.pos_key_proj(rel_embeddings)).repeat(copies, 1, 1)
            if "p2c" in self.pos_att_type:
                pos_query = self.heads(self.pos_query_proj(rel_embeddings)).repeat(copies, 1, 1)
        score = 0
        if "c2p" in self.pos_att_type:
            scale = torch.sqrt(torch.tensor(pos_key.size(-1), dtype=torch.float) * factor)
            c2p = torch.bmm(query, pos_key.transpose(-1, -2))
            positions = torch.clamp(relative_pos + span, 0, span * 2 - 1)
            index = positions.squeeze(0).expand([query.size(0), query.size(1), relative_pos.size(-1)])
            c2p = torch.gather(c2p, dim=-1, index=index)
            score = score + c2p / scale.to(dtype=c2p.dtype)
        if "p2c" in self.pos_att_type:
            scale = torch.sqrt(torch.tensor(pos_query.size(-1), dtype=torch.float) * factor)
            positions = torch.clamp(-relative_pos + span, 0, span * 2 - 1)
            p2c = torch.bmm(key, pos_query.transpose(-1, -2))
            index = positions.squeeze(0).expand([query.size(0), key.size(-2), key.size(-2)])
            p2c = torch.gather(p2c, dim=-1, index=index).transpose(-1, -2)
            score = score + p2c / scale.to(dtype=p2c.dtype)
        return score


class DebertaV2Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.self = DisentangledSelfAttention(config)
        self.output = ResidualOutput(config, config.hidden_size)

    def forward(self, hidden_states, attention_mask, relative_pos=None, rel_embeddings=None):
        attended = self.self(hidden_states, attention_mask, relative_pos, rel_embeddings)
        return self.output(attended, hidden_states)


class DebertaV2Intermediate(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.intermediate_size)
        self.intermediate_act_fn = activation(config.hidden_act)

    def forward(self, hidden_states):
        return self.intermediate_act_fn(self.dense(hidden_states))


class DebertaV2Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.attention = DebertaV2Attention(config)
        self.intermediate = DebertaV2Intermediate(config)
        self.output = ResidualOutput(config, config.intermediate_size)

    def forward(self, hidden_states, attention_mask, relative_pos=None, rel_embeddings=None):
        attended = self.attention(hidden_states, attention_mask, relative_pos, rel_embeddings)
        return self.output(self.intermediate(attended), attended)


class ConvLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        kernel = config.conv_kernel_size
        groups = getattr(config, "conv_groups", 1)
        self.act = activation(getattr(config, "conv_act", "tanh"))
        self.conv = nn.Conv1d(config.hidden_size, config.hidden_size, kernel, padding=(kernel - 1) // 2, groups=groups)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, hidden_states, residual, input_mask):
        out = self.conv(hidden_states.permute(0, 2, 1).contiguous()).permute(0, 2, 1).contiguous()
        padded = (1 - input_mask).bool()
        out.masked_fill_(padded.unsqueeze(-1).expand(out.size()), 0)
        out = self.act(self.dropout(out))
        summed = residual + out
        output = self.LayerNorm(summed).to(summed)
        return output * input_mask.unsqueeze(2).to(output.dtype)


class DebertaV2Embeddings(nn.Module):
    def __init__(self, config):
        super().__init__()
        width = getattr(config, "embedding_size", None)
        if width is None:
            width = config.hidden_size
        self.word_embeddings = nn.Embedding(config.vocab_size, width, padding_idx=config.pad_token_id)
        self.position_embeddings = None
        if config.position_biased_input:
            self.position_embeddings = nn.Embedding(config.max_position_embeddings, width)
        self.token_type_embeddings = nn.Embedding(config.type_vocab_size, width) if config.type_vocab_size > 0 else None
        self.embed_proj = nn.Linear(width, config.hidden_size, bias=False) if width != config.hidden_size else None
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.register_buffer("position_ids", torch.arange(config.max_position_embeddings).expand((1, -1)), persistent=False)

    def forward(self, input_ids, token_type_ids, mask, inputs_embeds=None):
        if inputs_embeds is None:
            inputs_embeds = self.word_embeddings(input_ids)
        embeddings = inputs_embeds
        if self.position_embeddings is not None:
            embeddings = embeddings + self.position_embeddings(self.position_ids[:, : embeddings.shape[1]])
        if self.token_type_embeddings is not None:
            embeddings = embeddings + self.token_type_embeddings(token_type_ids)
        if self.embed_proj is not None:
            embeddings = self.embed_proj(embeddings)
        embeddings = self.LayerNorm(embeddings)
        embeddings = embeddings * mask.unsqueeze(2).to(embeddings.dtype)
        return self.dropout(embeddings)


class DebertaV2Encoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.layer = nn.ModuleList([DebertaV2Layer(config) for _ in range(config.num_hidden_layers)])
        self.rel_embeddings = None
        self.LayerNorm = None
        if config.relative_attention:
            count = config.position_buckets if config.position_buckets > 0 else relative_span(config)
            self.rel_embeddings = nn.Embedding(count * 2, config.hidden_size)
        if "layer_norm" in config.norm_rel_ebd:
            self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.conv = ConvLayer(config) if config.conv_kernel_size > 0 else None

    def positions(self):
        if self.rel_embeddings is None:
            return None
        weight = self.rel_embeddings.weight
        return weight if self.LayerNorm is None else self.LayerNorm(weight)


class DebertaV2PreTrainedModel(PreTrainedModel):
    base_model_prefix = "deberta"


class DebertaV2Model(DebertaV2PreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.embeddings = DebertaV2Embeddings(config)
        self.encoder = DebertaV2Encoder(config)
        self.gradient_checkpointing = False

    def get_input_embeddings(self):
        return self.embeddings.word_embeddings

    def forward(
        self, input_ids=None, attention_mask=None, token_type_ids=None, inputs_embeds=None, output_hidden_states=None, **kwargs
    ):
        shape = input_ids.size() if input_ids is not None else inputs_embeds.size()[:-1]
        device = input_ids.device if input_ids is not None else inputs_embeds.device
        if attention_mask is None:
            attention_mask = torch.ones(shape, device=device)
        if token_type_ids is None:
            token_type_ids = torch.zeros(shape, dtype=torch.long, device=device)
        embedded = self.embeddings(input_ids, token_type_ids, attention_mask, inputs_embeds)
        pairs = attention_mask.unsqueeze(1).unsqueeze(2)
        pairs = pairs * pairs.squeeze(-2).unsqueeze(-1)
        relative_pos = None
        if self.config.relative_attention:
            relative_pos = relative_positions(embedded, self.config.position_buckets, relative_span(self.config))
        rel_embeddings = self.encoder.positions()
        # every layer's output stays alive until the encoder returns
        kept = (embedded,)
        hidden_states = embedded
        for index, layer in enumerate(self.encoder.layer):
            output = self.layer_call(layer, hidden_states, pairs, relative_pos=relative_pos, rel_embeddings=rel_embeddings)
            if index == 0 and self.encoder.conv is not None:
                output = self.encoder.conv(embedded, output, attention_mask)
            kept = kept + (output,)
            hidden_states = output
        wanted = self.wants_hidden_states(output_hidden_states)
        return ModelOutput(last_hidden_state=hidden_states, hidden_states=kept if wanted else None)


class ContextPooler(nn.Module):
    def __init__(self, config):
        super().__init__()
        width = getattr(config, "pooler_hidden_size", None)
        if width is None:
            width = config.hidden_size
        self.dense = nn.Linear(width, width)
        self.dropout = nn.Dropout(config.pooler_dropout)
        self.act = activation(config.pooler_hidden_act)

    def forward(self, hidden_states):
        first = hidden_states[:, 0]
        return self.act(self.dense(self.dropout(first)))


class DebertaV2ForSequenceClassification(DebertaV2PreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.num_labels = config.num_labels
        self.deberta = DebertaV2Model(config)
        self.pooler = ContextPooler(config)
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, input_ids=None, attention_mask=None, labels=None, **kwargs):
        outputs = self.deberta(input_ids, attention_mask, **kwargs)
        pooled = self.pooler(outputs.last_hidden_state)
        logits = self.classifier(self.dropout(pooled))
        loss = None
        if labels is not None:
            loss = classification_loss(logits, labels, self.config)
        return ModelOutput(loss=loss, logits=logits, hidden_states=outputs.hidden_states)


class DebertaV2ForTokenClassification(DebertaV2PreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.num_labels = config.num_labels
        self.deberta = DebertaV2Model(config)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)

    def forward(self, input_ids=None, attention_mask=None, labels=None, **kwargs):
        outputs = self.deberta(input_ids, attention_mask, **kwargs)
        logits = self.classifier(self.dropout(outputs.last_hidden_state))
        loss = None
        if labels is not None:
            loss = token_loss(logits, labels, self.config)
        return ModelOutput(loss=loss, logits=logits, hidden_states=outputs.hidden_states)


class DebertaV2ForQuestionAnswering(DebertaV2PreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.deberta = DebertaV2Model(config)
        self.qa_outputs = nn.Linear(config.hidden_size, config.num_labels)

    def forward(self, input_ids=None, attention_mask=None, start_positions=None, end_positions=None, **kwargs):
        outputs = self.deberta(input_ids, attention_mask, **kwargs)
        start_logits, end_logits = self.qa_outputs(outputs.last_hidden_state).split(1, dim=-1)
        start_logits = start_logits.squeeze(-1).contiguous()
        end_logits = end_logits.squeeze(-1).contiguous()
        loss = None
        if start_positions is not None and end_positions is not None:
            loss = span_loss(start_logits, end_logits, start_positions, end_positions)
        return ModelOutput(loss=loss, start_logits=start_logits, end_logits=end_logits, hidden_states=outputs.hidden_states)


class DebertaV2PredictionHead(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.transform_act_fn = activation(config.hidden_act)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.decoder = nn.Linear(config.hidden_size, config.vocab_size)
        self.bias = self.decoder.bias

    def forward(self, hidden_states):
        return self.decoder(self.LayerNorm(self.transform_act_fn(self.dense(hidden_states))))


class DebertaV2ForMaskedLM(DebertaV2PreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.deberta = DebertaV2Model(config)
        self.cls = DebertaV2PredictionHead(config)
        self.tie_weights()

    def get_output_embeddings(self):
        return self.cls.decoder

    def forward(self, input_ids=None, attention_mask=None, labels=None, **kwargs):
        outputs = self.deberta(input_ids, attention_mask, **kwargs)
        logits = self.cls(outputs.last_hidden_state)
        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits.view(-1, self.config.vocab_size), labels.view(-1))
        return ModelOutput(loss=loss, logits=logits, hidden_states=outputs.hidden_states)
