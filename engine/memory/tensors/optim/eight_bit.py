"""The optimizers of bitsandbytes: states of 8 bits, or of 32 where asked, on the host where paged."""

from __future__ import annotations

from typing import Any

from engine.memory.tensors import dtypes
from engine.memory.tensors.optim.optimizer import Optimizer
from engine.memory.tensors.tensor import Tensor, new


class Adam8bit(Optimizer):
    """bitsandbytes: block-wise 8-bit states (and 4 bytes for each 256 elements) from 4096 elements on, else 32-bit."""

    states = 2
    paged = False
    bits = 8

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        *args: Any,
        weight_decay: float = 0.0,
        optim_bits: int | None = None,
        min_8bit_size: int = 4096,
        is_paged: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay})
        self._minimum = min_8bit_size
        self._bits = optim_bits or self.bits
        self._paged = is_paged or self.paged
        self._maps: list[Tensor] = []

    def update(self, group: dict[str, Any], params: list[Tensor]) -> None:
        for p in params:
            state = self.state[p]
            if state:
                continue
            state["step"] = 0
            n = p.numel()
            device = "cpu" if self._paged and n >= 100_000 else p.storage.device
            small = self._bits == 32 or n < self._minimum
            if not small and not self._maps:
                self._maps = [new((256,), dtypes.float32, p.storage.device) for _ in range(self.states)]
                for t in self._maps:
                    t.storage.relabel("optimizer")
            for i in range(self.states):
                moment = state[f"state{i + 1}"] = new(p.shape, dtypes.float32 if small else dtypes.uint8, device)
                moment.storage.relabel("optimizer")
                if not small:
                    scale = state[f"absmax{i + 1}"] = new((-(-n // 256),), dtypes.float32, p.storage.device)
                    scale.storage.relabel("optimizer")


class AdamW8bit(Adam8bit):
    pass


class PagedAdamW8bit(Adam8bit):
    paged = True


class PagedAdamW32bit(Adam8bit):
    paged = True
    bits = 32


class Adam32bit(Adam8bit):
    bits = 32


class Lion8bit(Adam8bit):
    states = 1


class SGD8bit(Adam8bit):
    states = 1


BITSANDBYTES: dict[str, Any] = {
    "Adam8bit": Adam8bit,
    "AdamW8bit": AdamW8bit,
    "PagedAdam8bit": PagedAdamW8bit,
    "PagedAdamW8bit": PagedAdamW8bit,
    "PagedAdamW32bit": PagedAdamW32bit,
    "PagedAdamW": PagedAdamW32bit,
    "Adam": Adam32bit,
    "AdamW": Adam32bit,
    "Lion8bit": Lion8bit,
    "SGD8bit": SGD8bit,
    "RMSprop8bit": SGD8bit,
    "Adagrad8bit": SGD8bit,
    "LAMB8bit": Adam8bit,
    "LARS8bit": SGD8bit,
    "AdamW32bit": Adam32bit,
    "Adam32bit": Adam32bit,
}
