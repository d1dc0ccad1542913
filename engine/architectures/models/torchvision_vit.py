"""ViT as torchvision builds it: nn.MultiheadAttention."""

import torch
import torch.nn as nn

from engine.architectures.models.imaging import ImageModel, classifier


class MLPBlock(nn.Module):
    def __init__(self, width, hidden, dropout):
        super().__init__()
        self.linear_1 = nn.Linear(width, hidden)
        self.act = nn.GELU()
        self.dropout_1 = nn.Dropout(dropout)
        self.linear_2 = nn.Linear(hidden, width)
        self.dropout_2 = nn.Dropout(dropout)

    def forward(self, x):
        x = self.dropout_1(self.act(self.linear_1(x)))
        return self.dropout_2(self.linear_2(x))


class EncoderBlock(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.hidden_dim, eps=1e-6)
        self.self_attention = nn.MultiheadAttention(
            config.hidden_dim, config.num_heads, dropout=config.attention_dropout, batch_first=True
        )
        self.dropout = nn.Dropout(config.dropout)
        self.ln_2 = nn.LayerNorm(config.hidden_dim, eps=1e-6)
        self.mlp = MLPBlock(config.hidden_dim, config.mlp_dim, config.dropout)

    def forward(self, input):
        x = self.ln_1(input)
        x, _ = self.self_attention(x, x, x, need_weights=False)
        x = self.dropout(x)
        x = x + input
        y = self.ln_2(x)
        y = self.mlp(y)
        return x + y


class Encoder(nn.Module):
    def __init__(self, config, length):
        super().__init__()
        self.pos_embedding = nn.Parameter(torch.empty(1, length, config.hidden_dim))
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.Sequential(*[EncoderBlock(config) for _ in range(config.num_layers)])
        self.ln = nn.LayerNorm(config.hidden_dim, eps=1e-6)

    def forward(self, input):
        input = input + self.pos_embedding
        return self.ln(self.layers(self.dropout(input)))


class Heads(nn.Sequential):
    def __init__(self, head):
        super().__init__()
        self.head = head

    def forward(self, x):
        return self.head(x)


class VisionTransformer(ImageModel):
    classifier_name = "heads"

    def __init__(self, config):
        super().__init__(config)
        self.hidden_dim = config.hidden_dim
        self.conv_proj = nn.Conv2d(3, config.hidden_dim, kernel_size=config.patch_size, stride=config.patch_size)
        length = (config.image_size // config.patch_size) ** 2 + 1
        self.class_token = nn.Parameter(torch.zeros(1, 1, config.hidden_dim))
        self.encoder = Encoder(config, length)
        self.heads = Heads(classifier(config.hidden_dim, config.num_classes))

    def forward(self, x):
        batch = x.shape[0]
        x = self.conv_proj(x)
        x = x.reshape(batch, self.hidden_dim, -1)
        x = x.permute(0, 2, 1)
        x = torch.cat([self.class_token.expand(batch, -1, -1), x], dim=1)
        x = self.encoder(x)
        x = x[:, 0]
        return self.heads(x)
