"""CLIP and SigLIP: two towers of pre-norm layers, and the towers alone."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from engine.architectures.models.foundation import (
    ModelOutput,
    PreTrainedModel,
    activation,
    attend,
    bidirectional_mask,
    causal_mask,
    classification_loss,
)


class CLIPVisionEmbeddings(nn.Module):
    class_token = True

    def __init__(self, config):
        super().__init__()
        if self.class_token:
            self.class_embedding = nn.Parameter(torch.randn(config.hidden_size))
        self.patch_embedding = nn.Conv2d(
            config.num_channels,
            config.hidden_size,
            kernel_size=config.patch_size,
            stride=config.patch_size,
            bias=not self.class_token,
        )
        count = (config.image_size // config.patch_size) ** 2
        if self.class_token:
            count = count + 1
        self.position_embedding = nn.Embedding(count, config.hidden_size)
        self.register_buffer("position_ids", torch.arange(count).expand((1, -1)), persistent=False)

    def forward(self, pixel_values):
        batch = pixel_values.shape[0]
        patches = self.patch_embedding(pixel_values.to(dtype=self.patch_embedding.weight.dtype))
        embeddings = patches.flatten(2).transpose(1, 2)
        if self.class_token:
            embeddings = torch.cat([self.class_embedding.expand(batch, 1, -1), embeddings], dim=1)
        return embeddings + self.position_embedding(self.position_ids)


class CLIPTextEmbeddings(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.token_embedding = nn.Embedding(config.vocab_size, config.hidden_size)
        self.position_embedding = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.register_buffer("position_ids", torch.arange(config.max_position_embeddings).expand((1, -1)), persistent=False)

    def forward(self, input_ids, position_ids=None):
        if position_ids is None:
            position_ids = self.position_ids[:, : input_ids.shape[-1]]
        words = self.token_embedding(input_ids)
        return words + self.position_embedding(position_ids)


class CLIPAttention(nn.Module):
    def __init__(self, config, causal):
        super().__init__()
        self.config = config
        self.causal = causal
        self.head_dim = config.hidden_size // config.num_attention_heads
        self.scale = self.head_dim**-0.5
        self.k_proj = nn.Linear(config.hidden_size, config.hidden_size)
        self.v_proj = nn.Linear(config.hidden_size, config.hidden_size)
        self.q_proj = nn.Linear(config.hidden_size, config.hidden_size)
        self.out_proj = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, hidden_states, attention_mask=None):
        shape = (hidden_states.shape[0], hidden_states.shape[1], -1, self.head_dim)
        query = self.q_proj(hidden_states)
        key = self.k_proj(hidden_states)
        value = self.v_proj(hidden_states)
        query = query.view(shape).transpose(1, 2)
        key = key.view(shape).transpose(1, 2)
        value = value.view(shape).transpose(1, 2)
        dropout = self.config.attention_dropout if self.training else 0.0
        output = attend(
            self.config, query, key, value, attention_mask, dropout, self.scale, causal=self.causal, softmax="float32"
        )
        return self.out_proj(output.reshape(hidden_states.shape[0], hidden_states.shape[1], -1))


class CLIPMLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.activation_fn = activation(config.hidden_act)
        self.fc1 = nn.Linear(config.hidden_size, config.intermediate_size)
        self.fc2 = nn.Linear(config.intermediate_size, config.hidden_size)

    def forward(self, hidden_states):
        hidden_states = self.fc1(hidden_states)
        hidden_states = self.activation_fn(hidden_states)
        return self.fc2(hidden_states)


class CLIPEncoderLayer(nn.Module):
    def __init__(self, config, causal):
        super().__init__()
        self.self_attn = CLIPAttention(config, causal)
        self.layer_norm1 = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.mlp = CLIPMLP(config)
        self.layer_norm2 = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)

    def forward(self, hidden_states, attention_mask=None):
        residual = hidden_states
        hidden_states = self.layer_norm1(hidden_states)
        hidden_states = self.self_attn(hidden_states, attention_mask)
        hidden_states = residual + hidden_states
        residual = hidden_states
        hidden_states = self.layer_norm2(hidden_states)
        hidden_states = self.mlp(hidden_states)
        return residual + hidden_states


class CLIPEncoder(nn.Module):
    def __init__(self, config, causal):
        super().__init__()
        self.layers = nn.ModuleList([CLIPEncoderLayer(config, causal) for _ in range(config.num_hidden_layers)])


class CLIPPreTrainedModel(PreTrainedModel):
    def run(self, hidden_states, mask):
        for layer in self.encoder.layers:
            hidden_states = self.layer_call(layer, hidden_states, mask)
        return hidden_states


class CLIPTextModel(CLIPPreTrainedModel):
    causal = True

    def __init__(self, config):
        super().__init__(config)
        self.embeddings = CLIPTextEmbeddings(config)
        self.encoder = CLIPEncoder(config, self.causal)
        self.final_layer_norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.gradient_checkpointing = False

    def get_input_embeddings(self):
        return self.embeddings.token_embedding

    def pool(self, hidden_states, input_ids):
        rows = torch.arange(hidden_states.shape[0], device=hidden_states.device)
        return hidden_states[rows, input_ids.to(torch.int).argmax(dim=-1)]

    def forward(self, input_ids=None, attention_mask=None, position_ids=None, **kwargs):
        hidden_states = self.embeddings(input_ids, position_ids)
        if self.causal:
            mask = causal_mask(self.config, hidden_states, attention_mask)
        else:
            mask = bidirectional_mask(self.config, hidden_states, attention_mask)
        hidden_states = self.final_layer_norm(self.run(hidden_states, mask))
        return ModelOutput(last_hidden_state=hidden_states, pooler_output=self.pool(hidden_states, input_ids))


class CLIPVisionModel(CLIPPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.embeddings = CLIPVisionEmbeddings(config)
        self.pre_layrnorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.encoder = CLIPEncoder(config, False)
        self.post_layernorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.gradient_checkpointing = False

    def get_input_embeddings(self):
        return self.embeddings.patch_embedding

    def forward(self, pixel_values=None, **kwargs):
        hidden_states = self.embeddings(pixel_values)
        hidden_states = self.pre_layrnorm(hidden_states)
        hidden_states = self.run(hidden_states, None)
        pooled = self.post_layernorm(hidden_states[:, 0, :])
        return ModelOutput(last_hidden_state=hidden_states, pooler_output=pooled)


class CLIPVisionModelWithProjection(PreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.vision_model = CLIPVisionModel(config)
        self.visual_projection = nn.Linear(config.hidden_size, config.projection_dim, bias=False)

    def forward(self, pixel_values=None, **kwargs):
        outputs = self.vision_model(pixel_values)
        embeds = self.visual_projection(outputs.pooler_output)
        return ModelOutput(image_embeds=embeds, last_hidden_state=outputs.last_hidden_state)


class CLIPTextModelWithProjection(PreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.text_model = CLIPTextModel(config)
        self.text_projection = nn.Linear(config.hidden_size, config.projection_dim, bias=False)

    def forward(self, input_ids=None, attention_mask=None, **kwargs):
        outputs = self.text_model(input_ids, attention_mask)
        embeds = self.text_projection(outputs.pooler_output)
        return ModelOutput(text_embeds=embeds, last_hidden_state=outputs.last_hidden_state)


def unit(embeds):
    return embeds / torch.pow(torch.sum(torch.pow(embeds, 2), dim=-1, keepdim=True), 0.5)


def contrastive_loss(similarity):
    targets = torch.arange(len(similarity), device=similarity.device)
    return (F.cross_entropy(similarity, targets) + F.cross_entropy(similarity.t(), targets)) / 2.0


class CLIPModel(PreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        config.text_config._attn_implementation = config._attn_implementation
        config.vision_config._attn_implementation = config._attn_implementation
        self.text_model = CLIPTextModel(config.text_config)
        self.vision_model = CLIPVisionModel(config.vision_config)
        self.visual_projection = nn.Linear(config.vision_config.hidden_size, config.projection_dim, bias=False)
        self.text_projection = nn.Linear(config.text_config.hidden_size, config.projection_dim, bias=False)
        self.logit_scale = nn.Parameter(torch.tensor(2.6592))

    def get_input_embeddings(self):
        return self.text_model.get_input_embeddings()

    def get_text_features(self, input_ids=None, attention_mask=None, **kwargs):
        return self.text_projection(self.text_model(input_ids, attention_mask).pooler_output)

    def get_image_features(self, pixel_values=None, **kwargs):
        return self.visual_projection(self.vision_model(pixel_values).pooler_output)

    def forward(self, input_ids=None, pixel_values=None, attention_mask=None, position_ids=None, return_loss=None, **kwargs):
        vision_outputs = self.vision_model(pixel_values)
        image_embeds = self.visual_projection(vision_outputs.pooler_output)
        text_outputs = self.text_model(input_ids, attention_mask, position_ids)
        text_embeds = self.text_projection(text_outputs.pooler_output)
        image_embeds = unit(image_embeds)
        text_embeds = unit(text_embeds)
        logits_per_text = torch.matmul(text_embeds, image_embeds.t())
        logits_per_text = logits_per_text * self.logit_scale.exp()
        loss = contrastive_loss(logits_per_text) if return_loss else None
        return ModelOutput(
            loss=loss,
            logits_per_image=logits_per_text.t(),
            logits_per_text=logits_per_text,
            text_embeds=text_embeds,
            image_embeds=image_embeds,
            text_model_output=text_outputs,
            vision_model_output=vision_outputs,
        )


class CLIPForImageClassification(PreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.vision_model = CLIPVisionModel(config.vision_config)
        self.classifier = nn.Linear(config.vision_config.hidden_size, config.num_labels)

    def forward(self, pixel_values=None, labels=None, **kwargs):
        output = self.vision_model(pixel_values).last_hidden_state
        logits = self.classifier(torch.mean(output[:, 1:, :], dim=1))
        loss = None
        if labels is not None:
            loss = classification_loss(logits, labels, self.config)
        return ModelOutput(loss=loss, logits=logits)


class SiglipVisionEmbeddings(CLIPVisionEmbeddings):
    class_token = False


class SiglipPoolingHead(nn.Module):
    """One learned query over all patches."""

    def __init__(self, config):
        super().__init__()
        self.probe = nn.Parameter(torch.randn(1, 1, config.hidden_size))
        self.attention = nn.MultiheadAttention(config.hidden_size, config.num_attention_heads, batch_first=True)
        self.layernorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.mlp = CLIPMLP(config)

    def forward(self, hidden_states):
        probe = self.probe.repeat(hidden_states.shape[0], 1, 1)
        hidden_states = self.attention(probe, hidden_states, hidden_states)[0]
        residual = hidden_states
        hidden_states = self.layernorm(hidden_states)
        hidden_states = residual + self.mlp(hidden_states)
        return hidden_states[:, 0]


class SiglipVisionModel(CLIPPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.embeddings = SiglipVisionEmbeddings(config)
        self.encoder = CLIPEncoder(config, False)
        self.post_layernorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.head = SiglipPoolingHead(config)
        self.gradient_checkpointing = False

    def get_input_embeddings(self):
        return self.embeddings.patch_embedding

    def forward(self, pixel_values=None, **kwargs):
        hidden_states = self.run(self.embeddings(pixel_values), None)
        hidden_states = self.post_layernorm(hidden_states)
        return ModelOutput(last_hidden_state=hidden_states, pooler_output=self.head(hidden_states))


class SiglipTextModel(CLIPTextModel):
    causal = False

    def __init__(self, config):
        super().__init__(config)
        self.head = nn.Linear(config.hidden_size, config.projection_size)

    def pool(self, hidden_states, input_ids):
        return self.head(hidden_states[:, -1, :])


class SiglipModel(PreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.text_model = SiglipTextModel(config.text_config)
        self.vision_model = SiglipVisionModel(config.vision_config)
        self.logit_scale = nn.Parameter(torch.randn(1))
        self.logit_bias = nn.Parameter(torch.randn(1))

    def get_input_embeddings(self):
        return self.text_model.get_input_embeddings()

    def forward(self, input_ids=None, pixel_values=None, attention_mask=None, return_loss=None, **kwargs):
        vision_outputs = self.vision_model(pixel_values)
        text_outputs = self.text_model(input_ids, attention_mask)
        image_embeds = vision_outputs.pooler_output
        text_embeds = text_outputs.pooler_output
        image_embeds = image_embeds / image_embeds.norm(p=2, dim=-1, keepdim=True)
        text_embeds = text_embeds / text_embeds.norm(p=2, dim=-1, keepdim=True)
        logits_per_text = torch.matmul(text_embeds, image_embeds.t()) * self.logit_scale.exp() + self.logit_bias
        loss = None
        if return_loss:
            eye = torch.eye(logits_per_text.size(0), device=logits_per_text.device)
            signs = -torch.ones_like(logits_per_text) + 2 * eye
            loss = -torch.sum(F.logsigmoid(signs * logits_per_text), dim=-1).mean()
        return ModelOutput(
            loss=loss,
            logits_per_image=logits_per_text.t(),
            logits_per_text=logits_per_text,
            text_embeds=text_embeds,
            image_embeds=image_embeds,
            text_model_output=text_outputs,
            vision_model_output=vision_outputs,
        )
