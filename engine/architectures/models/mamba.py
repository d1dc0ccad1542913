"""Mamba: gated blocks around a selective state space, in the sequential form of plain PyTorch and in the fused one.

The sequential form (transformers without the mamba-ssm kernels) makes four tensors of (batch, width, length, state) in
float32 and steps through the sequence; the fused kernels never make them. `config.fused` says which; both are written
as one operation over the sequence that holds what the steps together hold.
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from engine.architectures.models.decoder import RMSNorm
from engine.architectures.models.decoder_heads import CausalLMHead
from engine.architectures.models.foundation import ModelOutput, PreTrainedModel


class RecurrentScan(torch.autograd.Function):
    """One state a step is kept for the product with the next step's decay and for the read-out."""

    @staticmethod
    def forward(ctx, decay, drive, readout):
        batch, width, length, _ = decay.shape
        dtype = readout.dtype
        states = torch.empty_like(decay)
        kept = states if dtype == states.dtype else states.to(dtype)
        ctx.save_for_backward(decay, states, kept, readout)
        # the outputs of the steps live until they are stacked
        steps = torch.empty(batch, width, length, dtype=dtype, device=decay.device)
        return torch.empty_like(steps)

    @staticmethod
    def backward(ctx, grad):
        decay, states, kept, readout = ctx.saved_tensors
        # each step gives its slice a gradient as wide as the whole, which is added to those before
        grad_decay = torch.empty_like(decay)
        grad_drive = torch.empty_like(decay)
        piece = torch.empty_like(decay)
        grad_drive = grad_drive + piece
        return grad_decay, grad_drive, torch.empty_like(readout)


class FusedMixer(torch.autograd.Function):
    """The mixer of mamba-ssm 2 between its input projection and its output projection.

    It keeps the projected input, the projections of the convolved input and the scan's result, one state for every 2048
    steps, and makes the convolution and the step sizes again in the backward pass (`checkpoint_lvl=1`).
    """

    @staticmethod
    def forward(ctx, projected, convolution, bias, x_weight, step_weight, step_bias, a_log, skip):
        batch, double, length = projected.shape
        width, rank = step_weight.shape
        state = a_log.shape[1]
        convolved = projected.new_empty(batch, width, length)
        sizes = torch.empty(batch * length, x_weight.shape[0], dtype=projected.dtype, device=projected.device)
        step = torch.empty_like(convolved)
        read_in = projected.new_empty(batch, 1, state, length)
        read_out = projected.new_empty(batch, 1, state, length)
        result = torch.empty_like(convolved)
        chunks = (length + 2047) // 2048
        states = torch.empty(batch, width, chunks, 2 * state, dtype=torch.float32, device=projected.device)
        ctx.save_for_backward(
            projected, convolution, bias, sizes, x_weight, step_weight, step_bias, a_log, read_in, read_out, skip, states, result
        )
        return torch.empty_like(result)

    @staticmethod
    def backward(ctx, grad):
        projected, convolution, bias, sizes, x_weight, step_weight, step_bias, a_log, _, _, skip, _, result = ctx.saved_tensors
        convolved = torch.empty_like(result)
        step = torch.empty_like(result)
        grad_projected = torch.empty_like(projected)
        gated = torch.empty_like(result)
        grad_convolved = torch.empty_like(convolved)
        grad_step = torch.empty_like(step)
        grad_sizes = torch.empty_like(sizes)
        return (
            grad_projected,
            torch.empty_like(convolution),
            torch.empty_like(bias),
            torch.empty_like(x_weight),
            torch.empty_like(step_weight),
            torch.empty_like(step_bias),
            torch.empty_like(a_log),
            torch.empty_like(skip),
        )


class MambaMixer(nn.Module):
    def __init__(self, config, layer_idx=0):
        super().__init__()
        self.fused = getattr(config, "fused", False)
        self.state = config.state_size
        width = self.width = int(config.expand * config.hidden_size)
        rank = config.time_step_rank
        self.rank = math.ceil(config.hidden_size / 16) if rank is None or rank == "auto" else rank
        self.conv1d = nn.Conv1d(
            width, width, config.conv_kernel, groups=width, padding=config.conv_kernel - 1, bias=config.use_conv_bias
        )
        self.in_proj = nn.Linear(config.hidden_size, width * 2, bias=config.use_bias)
        self.x_proj = nn.Linear(width, self.rank + self.state * 2, bias=False)
        self.dt_proj = nn.Linear(self.rank, width, bias=True)
        self.A_log = nn.Parameter(torch.empty(width, self.state, dtype=torch.float32))
        self.D = nn.Parameter(torch.empty(width, dtype=torch.float32))
        self.out_proj = nn.Linear(width, config.hidden_size, bias=config.use_bias)

    def forward(self, hidden_states):
        dtype = hidden_states.dtype
        projected = self.in_proj(hidden_states).transpose(1, 2)
        if self.fused:
            mixed = FusedMixer.apply(
                projected,
                self.conv1d.weight,
                self.conv1d.bias,
                self.x_proj.weight,
                self.dt_proj.weight,
                self.dt_proj.bias,
                self.A_log,
                self.D,
            )
            return self.out_proj(mixed.transpose(1, 2))
        decay_rate = -torch.exp(self.A_log.float())
        values, gate = projected.chunk(2, dim=1)
        values = F.silu(self.conv1d(values)[..., : hidden_states.shape[1]])
        sizes, read_in, read_out = torch.split(self.x_proj(values.transpose(1, 2)), [self.rank, self.state, self.state], dim=-1)
        step = self.dt_proj.weight @ sizes.transpose(1, 2)
        step = F.softplus(step + self.dt_proj.bias.float().to(step.dtype)[..., None])
        decay = torch.exp(decay_rate[None, :, None, :] * step[:, :, :, None])
        drive = step[:, :, :, None] * read_in[:, None, :, :].float()
        drive = drive * values[:, :, :, None].float()
        scanned = RecurrentScan.apply(decay, drive, read_out)
        del decay, drive
        scanned = scanned + values * self.D.float()[None, :, None]
        scanned = scanned * F.silu(gate)
        return self.out_proj(scanned.transpose(1, 2).to(dtype))


class MambaBlock(nn.Module):
    def __init__(self, config, layer_idx=0):
        super().__init__()
        self.residual_in_fp32 = config.residual_in_fp32
        self.norm = RMSNorm(config.hidden_size, eps=config.layer_norm_epsilon)
        self.mixer = MambaMixer(config, layer_idx)

    def forward(self, hidden_states):
        residual = hidden_states
        hidden_states = self.norm(hidden_states.to(self.norm.weight.dtype))
        if self.residual_in_fp32:
            residual = residual.to(torch.float32)
        return residual + self.mixer(hidden_states)


class MambaPreTrainedModel(PreTrainedModel):
    base_model_prefix = "backbone"


class MambaModel(MambaPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.embeddings = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList([MambaBlock(config, index) for index in range(config.num_hidden_layers)])
        self.norm_f = RMSNorm(config.hidden_size, eps=config.layer_norm_epsilon)
        self.gradient_checkpointing = False

    def get_input_embeddings(self):
        return self.embeddings

    def forward(self, input_ids=None, attention_mask=None, inputs_embeds=None, output_hidden_states=None, **kwargs):
        hidden_states = self.embeddings(input_ids) if inputs_embeds is None else inputs_embeds
        wanted = self.wants_hidden_states(output_hidden_states)
        kept = ()
        for layer in self.layers:
            if wanted:
                kept = kept + (hidden_states,)
            hidden_states = self.layer_call(layer, hidden_states)
        hidden_states = self.norm_f(hidden_states)
        return ModelOutput(last_hidden_state=hidden_states, past_key_values=None, hidden_states=kept if wanted else None)


class MambaForCausalLM(CausalLMHead):
    base_model_prefix = "backbone"
    model_class = MambaModel
