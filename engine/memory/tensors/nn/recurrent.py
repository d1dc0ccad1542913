"""Recurrent layers as cuDNN runs them: one output, a reserve space kept for backward, packed weight gradients."""

from __future__ import annotations

from typing import Any

from engine.memory.tensors import machine
from engine.memory.tensors.autograd import Node, record_many, wants_gradient
from engine.memory.tensors.dtypes import DType
from engine.memory.tensors.linear_algebra import lower
from engine.memory.tensors.nn.layers import weight_of
from engine.memory.tensors.nn.module import Module
from engine.memory.tensors.registry import FUNCTIONAL
from engine.memory.tensors.tensor import Tensor, like, new

F = FUNCTIONAL
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def _recurrent_backward(node: Node, gradients: list[Tensor | None]) -> Any:
    x = node.saved[0]
    gx = like(x)
    weights = node.context
    total = sum(n for n, _, _ in weights)
    packed = new((total,), x.dtype, x.storage.device)
    found: list[Tensor | None] = []
    for (_, shape, dtype), edge in zip(weights, node.edges[3:], strict=True):
        if edge is None:
            found.append(None)
            continue
        piece = Tensor(shape, x.dtype, packed.storage)
        found.append(piece if dtype is x.dtype else piece.to(dtype))
    states = [
        None if edge is None else like(state) for edge, state in zip(node.edges[1:3], node.saved[1:3], strict=True)
    ]
    return (gx if node.edges[0] is not None else None, *states, *found)


class PackedSequence:
    """``nn.utils.rnn.PackedSequence``: taken as its padded tensor."""

    def __init__(
        self,
        data: Tensor,
        batch_sizes: Any = None,
        sorted_indices: Any = None,
        unsorted_indices: Any = None,
        batch_first: bool = False,
    ) -> None:
        self.data, self.batch_sizes = data, batch_sizes
        self.sorted_indices, self.unsorted_indices = sorted_indices, unsorted_indices
        self.batch_first = batch_first


class RNNBase(Module):
    kind = "RNN"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: Any = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        if isinstance(nonlinearity, bool):  # LSTM and GRU take no nonlinearity: the positional arguments shift by one
            bias, batch_first, dropout, bidirectional = nonlinearity, bias, batch_first, bool(dropout)
        self.mode = self.kind
        self.input_size, self.hidden_size, self.num_layers, self.bias = (
            int(input_size),
            int(hidden_size),
            int(num_layers),
            bias,
        )
        self.batch_first, self.dropout, self.bidirectional, self.proj_size = (
            batch_first,
            dropout,
            bidirectional,
            proj_size,
        )
        directions = 2 if bidirectional else 1
        rows = GATES[self.kind] * self.hidden_size
        self._names: list[str] = []
        out = proj_size or self.hidden_size
        for layer in range(self.num_layers):
            for direction in range(directions):
                suffix = f"l{layer}" + ("_reverse" if direction else "")
                width = self.input_size if layer == 0 else out * directions
                shapes: list[tuple[str, tuple[int, ...]]] = [("weight_ih_", (rows, width)), ("weight_hh_", (rows, out))]
                if bias:
                    shapes += [("bias_ih_", (rows,)), ("bias_hh_", (rows,))]
                if proj_size:
                    shapes.append(("weight_hr_", (proj_size, self.hidden_size)))
                for prefix, shape in shapes:
                    self.register_parameter(prefix + suffix, weight_of(shape, device, dtype))
                    self._names.append(prefix + suffix)

    def flatten_parameters(self) -> None:
        return None

    @property
    def all_weights(self) -> list[Any]:
        return [[getattr(self, n) for n in self._names]]

    def forward(self, input: Any, hx: Any = None) -> Any:
        packed = isinstance(input, PackedSequence)
        x = input.data if packed else input
        batch_first = input.batch_first if packed else self.batch_first
        unbatched = len(x.shape) == 2
        if unbatched:
            x = x.unsqueeze(0 if batch_first else 1)
        if machine.current.autocast is not None:
            x = lower(x)
        b, steps = (x.shape[0], x.shape[1]) if batch_first else (x.shape[1], x.shape[0])
        directions = 2 if self.bidirectional else 1
        width = self.proj_size or self.hidden_size
        state = (self.num_layers * directions, b, width)
        lstm = self.kind == "LSTM"
        if hx is None:
            h = c = new(state, x.dtype, x.storage.device)
        elif lstm:
            h, c = hx
        else:
            h = c = hx
        weights = [getattr(self, n) for n in self._names]
        total = sum(w.numel() for w in weights)
        device = x.storage.device
        wanted = wants_gradient(x, h, c, *weights)
        half = new((total,), x.dtype, device) if weights[0].dtype is not x.dtype else None
        out = new((b, steps, width * directions) if batch_first else (steps, b, width * directions), x.dtype, device)
        hy = new(state, x.dtype, device)
        cy = new((self.num_layers * directions, b, self.hidden_size), x.dtype, device) if lstm else hy
        gates = GATES[self.kind]
        reserve = None
        if self.training and machine.current.grad_enabled:
            reserve = new(
                (self.num_layers * directions * b * steps * self.hidden_size * (gates + 2 if gates > 1 else 2),),
                x.dtype,
                device,
            )
        if wanted:
            saved = (x, h, c, out.alias(), reserve, half, *weights)
            record_many(
                [out, hy, cy] if lstm else [out, hy],
                (x, h if hx is not None else None, c if hx is not None and lstm else None, *weights),
                _recurrent_backward,
                saved,
                [(w.numel(), w.shape, w.dtype) for w in weights],
            )
        result: Any = (
            PackedSequence(out, input.batch_sizes, None, None, batch_first)
            if packed
            else out.squeeze(0 if batch_first else 1)
            if unbatched
            else out
        )
        return result, ((hy, cy) if lstm else hy)


class RNN(RNNBase):
    kind = "RNN"


class LSTM(RNNBase):
    kind = "LSTM"


class GRU(RNNBase):
    kind = "GRU"


class _Cell(Module):
    gates = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size = input_size, hidden_size
        rows = self.gates * hidden_size
        self.weight_ih = weight_of((rows, input_size), device, dtype)
        self.weight_hh = weight_of((rows, hidden_size), device, dtype)
        self.register_parameter("bias_ih", weight_of((rows,), device, dtype) if bias else None)
        self.register_parameter("bias_hh", weight_of((rows,), device, dtype) if bias else None)

    def _gates(self, x: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        return F["linear"](x, self.weight_ih, None), F["linear"](h, self.weight_hh, None)

    def _zero(self, x: Tensor) -> Tensor:
        return new((x.shape[0], self.hidden_size), x.dtype, x.storage.device)


class RNNCell(_Cell):
    def forward(self, x: Tensor, hx: Tensor | None = None) -> Any:
        h = self._zero(x) if hx is None else hx
        return (F["linear"](x, self.weight_ih, self.bias_ih) + F["linear"](h, self.weight_hh, self.bias_hh)).tanh()


def _fused_cell_backward(node: Node, gradients: list[Tensor | None]) -> Any:
    # _thnn_fused_*_cell_backward: one workspace-sized gradient for both products, sums for the biases
    x_gates, state = node.saved[0], node.saved[1]
    gates = like(x_gates)
    bias = new(node.context[0], gates.dtype, gates.storage.device) if node.context[0] else None
    return gates, gates, like(state), bias, bias


class _FusedCell(_Cell):
    def _run(self, x: Tensor, h: Tensor, state: Tensor, outputs: int) -> list[Tensor]:
        ig, hg = self._gates(x, h)
        workspace = (
            like(ig) if self.gates == 4 else new((ig.shape[0], 5 * self.hidden_size), ig.dtype, ig.storage.device)
        )
        outs = [new((ig.shape[0], self.hidden_size), ig.dtype, ig.storage.device) for _ in range(outputs)]
        if wants_gradient(ig, hg, state):
            kept = (workspace, state, outs[-1].alias())
            shape = self.bias_ih.shape if self.bias_ih is not None else None
            record_many(outs, (ig, hg, state, self.bias_ih, self.bias_hh), _fused_cell_backward, kept, (shape,))
        return outs


class LSTMCell(_FusedCell):
    gates = 4

    def forward(self, x: Tensor, hx: Any = None) -> Any:
        h, c = (self._zero(x), self._zero(x)) if hx is None else hx
        hy, cy = self._run(x, h, c, 2)
        return hy, cy


class GRUCell(_FusedCell):
    gates = 3

    def forward(self, x: Tensor, hx: Tensor | None = None) -> Any:
        h = self._zero(x) if hx is None else hx
        return self._run(x, h, h, 1)[0]


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    return PackedSequence(input.clone(), lengths, None, None, batch_first)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> Any:
    data = sequence.data
    return (data if batch_first == sequence.batch_first else data.transpose(0, 1)), sequence.batch_sizes


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    items = list(sequences)
    longest = max(x.shape[0] for x in items)
    lead = (len(items), longest) if batch_first else (longest, len(items))
    return new((*lead, *items[0].shape[1:]), items[0].dtype, items[0].storage.device)
