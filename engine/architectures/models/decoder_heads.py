"""Heads over a decoder: next token, class of a sequence, class of every token, span of an answer.

A family names its decoder in `model_class` and the attribute that holds it in `base_model_prefix`.
"""

import torch.nn as nn

from engine.architectures.models.foundation import (
    ModelOutput,
    PreTrainedModel,
    causal_lm_loss,
    classification_loss,
    keep_last,
    last_token_logits,
    span_loss,
    token_loss,
)


class HeadedDecoder(PreTrainedModel):
    base_model_prefix = "transformer"
    model_class = None

    def __init__(self, config):
        super().__init__(config)
        self.num_labels = config.num_labels
        setattr(self, self.base_model_prefix, self.model_class(config))
        self.head(config)

    def decode(self, input_ids, attention_mask, inputs):
        return self.base_model(input_ids, attention_mask=attention_mask, **inputs)


class CausalLMHead(HeadedDecoder):
    head_bias = False

    def head(self, config):
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=self.head_bias)
        self.tie_weights()

    def shape_logits(self, logits):
        return logits

    def forward(self, input_ids=None, attention_mask=None, labels=None, logits_to_keep=0, num_items_in_batch=None, **kwargs):
        outputs = self.decode(input_ids, attention_mask, kwargs)
        logits = self.get_output_embeddings()(keep_last(outputs.last_hidden_state, logits_to_keep))
        logits = self.shape_logits(logits)
        loss = None
        if labels is not None:
            loss = causal_lm_loss(logits, labels, self.config.vocab_size, num_items_in_batch)
        return ModelOutput(
            loss=loss, logits=logits, past_key_values=outputs.past_key_values, hidden_states=outputs.hidden_states
        )


class SequenceClassificationHead(HeadedDecoder):
    def head(self, config):
        self.score = nn.Linear(config.hidden_size, config.num_labels, bias=False)

    def forward(self, input_ids=None, attention_mask=None, labels=None, **kwargs):
        outputs = self.decode(input_ids, attention_mask, kwargs)
        logits = self.score(outputs.last_hidden_state)
        pooled = last_token_logits(logits, input_ids, self.config)
        loss = None
        if labels is not None:
            loss = classification_loss(pooled, labels, self.config)
        return ModelOutput(loss=loss, logits=pooled, past_key_values=outputs.past_key_values, hidden_states=outputs.hidden_states)


class TokenClassificationHead(HeadedDecoder):
    head_name = "classifier"

    def head(self, config):
        self.dropout = nn.Dropout(0.1)
        setattr(self, self.head_name, nn.Linear(config.hidden_size, config.num_labels))

    def forward(self, input_ids=None, attention_mask=None, labels=None, **kwargs):
        outputs = self.decode(input_ids, attention_mask, kwargs)
        logits = getattr(self, self.head_name)(self.dropout(outputs.last_hidden_state))
        loss = None
        if labels is not None:
            loss = token_loss(logits, labels, self.config)
        return ModelOutput(loss=loss, logits=logits, hidden_states=outputs.hidden_states)


class QuestionAnsweringHead(HeadedDecoder):
    def head(self, config):
        self.qa_outputs = nn.Linear(config.hidden_size, 2)

    def forward(self, input_ids=None, attention_mask=None, start_positions=None, end_positions=None, **kwargs):
        outputs = self.decode(input_ids, attention_mask, kwargs)
        start_logits, end_logits = self.qa_outputs(outputs.last_hidden_state).split(1, dim=-1)
        start_logits = start_logits.squeeze(-1).contiguous()
        end_logits = end_logits.squeeze(-1).contiguous()
        loss = None
        if start_positions is not None and end_positions is not None:
            loss = span_loss(start_logits, end_logits, start_positions, end_positions)
        return ModelOutput(loss=loss, start_logits=start_logits, end_logits=end_logits, hidden_states=outputs.hidden_states)
