"""The optimizers of ``torch.optim`` and those people import beside them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.memory.tensors import dtypes, machine
from engine.memory.tensors.optim.optimizer import Optimizer, grouped, uses_foreach
from engine.memory.tensors.tensor import Tensor, like, new


def lists(params: list[Tensor], count: int) -> list[Tensor]:
    """``count`` temporary tensors for each parameter, all alive together."""
    return [like(p) for _ in range(count) for p in params]


class _Moments(Optimizer):
    """Optimizers whose state is a few tensors of the parameter's shape.

    ``foreach_lists``: parameter-sized lists alive at once in the foreach step; ``single``: temporaries of one parameter
    in the loop implementation; ``decay_list``: whether weight decay makes a list of its own that stays alive.
    """

    names: tuple[str, ...] = ()
    foreach_lists = 1
    single = 2
    decay_list = False
    foreach_default = True

    def names_for(self, group: dict[str, Any]) -> tuple[str, ...]:
        return self.names

    def prepare(self, group: dict[str, Any], p: Tensor) -> None:
        state = self.state[p]
        if not state:
            state["step"] = new(
                (), dtypes.float32, "cuda" if (group.get("fused") or group.get("capturable")) else "cpu"
            )
            state["step"].storage.relabel("optimizer")
            for name in self.names_for(group):
                state[name] = self.state_tensor(p)

    def update(self, group: dict[str, Any], params: list[Tensor]) -> None:
        for p in params:
            self.prepare(group, p)
        if group.get("fused"):
            return
        decays = bool(group.get("weight_decay")) and self.decay_list
        if uses_foreach(group, params) and (self.foreach_default or group.get("foreach")):
            for together in grouped(params):
                held = lists(together, 1) if decays else []
                temporaries = lists(together, self.foreach_lists)
                del held, temporaries
            return
        for p in params:
            held = lists([p], self.single + decays)
            del held


class Adam(_Moments):
    names = ("exp_avg", "exp_avg_sq")

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: Any = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "amsgrad": amsgrad,
                "foreach": foreach,
                "maximize": maximize,
                "capturable": capturable,
                "differentiable": differentiable,
                "fused": fused,
            },
        )

    def names_for(self, group: dict[str, Any]) -> tuple[str, ...]:
        return (*self.names, "max_exp_avg_sq") if group.get("amsgrad") else self.names


class AdamW(Adam):
    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: Any = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, *args, **kwargs)


class NAdam(_Moments):
    names = ("exp_avg", "exp_avg_sq")

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: Any = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, **kwargs})


class RAdam(NAdam):
    foreach_lists = 2


class Adamax(NAdam):
    names = ("exp_avg", "exp_inf")
    foreach_lists = 2
    decay_list = False


class SparseAdam(NAdam):
    foreach_default = False


class SGD(_Moments):
    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "dampening": dampening,
                "weight_decay": weight_decay,
                "nesterov": nesterov,
                "maximize": maximize,
                "foreach": foreach,
                "differentiable": differentiable,
                "fused": fused,
            },
        )

    def update(self, group: dict[str, Any], params: list[Tensor]) -> None:
        decays = bool(group["weight_decay"]) and not group.get("fused")
        foreach = uses_foreach(group, params)
        for together in grouped(params) if foreach else [[p] for p in params]:
            held = lists(together, 1) if decays or (not foreach and group["nesterov"]) else []
            if group["momentum"]:
                for p in together:
                    if "momentum_buffer" not in self.state[p]:
                        self.state[p]["momentum_buffer"] = self.state_tensor(p)
            del held


class RMSprop(_Moments):
    decay_list = True

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "alpha": alpha,
                "eps": eps,
                "weight_decay": weight_decay,
                "momentum": momentum,
                "centered": centered,
                "foreach": foreach,
                "capturable": capturable,
                "differentiable": differentiable,
            },
        )

    def names_for(self, group: dict[str, Any]) -> tuple[str, ...]:
        names = ["square_avg"]
        if group["momentum"]:
            names.append("momentum_buffer")
        if group["centered"]:
            names.append("grad_avg")
        return tuple(names)


class Adagrad(_Moments):
    names = ("sum",)
    foreach_lists = 2

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "lr_decay": lr_decay,
                "weight_decay": weight_decay,
                "eps": eps,
                "foreach": foreach,
                "fused": fused,
                "differentiable": differentiable,
            },
        )
        for group in self.param_groups:
            for p in group["params"]:
                self.prepare(group, p)

    def prepare(self, group: dict[str, Any], p: Tensor) -> None:
        if not self.state[p]:
            self.state[p]["step"] = new((), dtypes.float32, "cpu")
            self.state[p]["sum"] = self.state_tensor(p)


class Adadelta(_Moments):
    names = ("square_avg", "acc_delta")
    foreach_lists = 2
    decay_list = True

    def __init__(
        self,
        params: Any,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "foreach": foreach, **kwargs}
        )


class ASGD(_Moments):
    names = ("ax",)
    decay_list = True

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "foreach": foreach, **kwargs})


class Rprop(_Moments):
    names = ("prev", "step_size")

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        etas: Any = (0.5, 1.2),
        step_sizes: Any = (1e-6, 50),
        foreach: bool | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(params, {"lr": lr, "foreach": foreach, **kwargs})


class Lion(_Moments):
    """``lion_pytorch.Lion``: one momentum; the update is a clone of it."""

    names = ("exp_avg",)
    single = 2
    foreach_default = False

    def __init__(
        self, params: Any, lr: Any = 1e-4, betas: Any = (0.9, 0.99), weight_decay: float = 0.0, **kwargs: Any
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})


class Adafactor(Optimizer):
    """Factored second moments: a row and a column for a matrix, the full shape for a vector; one tensor at a time."""

    def __init__(
        self,
        params: Any,
        lr: Any = None,
        *args: Any,
        beta1: float | None = None,
        weight_decay: float = 0.0,
        relative_step: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            params, {"lr": lr, "beta1": beta1, "weight_decay": weight_decay, "relative_step": relative_step}
        )

    def update(self, group: dict[str, Any], params: list[Tensor]) -> None:
        for p in params:
            state = self.state[p]
            if not state:
                if len(p.shape) >= 2:
                    for name, shape in (("row_var", (*p.shape[:-1], 1)), ("col_var", (*p.shape[:-2], 1, p.shape[-1]))):
                        state[name] = new(shape, p.dtype, p.storage.device)
                        state[name].storage.relabel("optimizer")
                else:
                    state["variance"] = self.state_tensor(p)
                if group.get("beta1") is not None:
                    state["exp_avg"] = self.state_tensor(p)
                state["step"] = new((), dtypes.float32, "cpu")
            wide = dtypes.float32 if p.dtype.itemsize == 2 else p.dtype
            held = [like(p, wide) for _ in range(2)]
            del held


class LBFGS(Optimizer):
    """Flat gradients, directions and the history of steps; one inner iteration is played for each step."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        super().__init__(params, {"lr": lr, "max_iter": max_iter, "history_size": history_size})
        self._history: list[tuple[Tensor, Tensor]] = []
        self._kept: dict[str, Tensor] = {}

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        state = machine.current
        outer = state.grad_enabled
        state.grad_enabled = True
        try:
            loss = closure() if closure is not None else None
        finally:
            state.grad_enabled = outer
        state.note("LBFGS: one inner iteration for each step")
        self.apply_step()
        return loss

    def update(self, group: dict[str, Any], params: list[Tensor]) -> None:
        n = sum(p.numel() for p in group["params"])

        def flat() -> Tensor:
            out = new((n,), params[0].dtype, params[0].storage.device)
            out.storage.relabel("optimizer")
            return out

        gradient = flat()
        if "direction" in self._kept:
            self._history.append((flat(), flat()))
            self._history = self._history[-int(group["history_size"]) :]
            held = [flat(), flat()]
            del held
        self._kept = {"direction": flat(), "previous": flat()}
        del gradient


OPTIMIZERS: dict[str, Any] = {
    c.__name__: c
    for c in (
        Optimizer,
        Adam,
        AdamW,
        NAdam,
        RAdam,
        Adamax,
        SparseAdam,
        SGD,
        RMSprop,
        Adagrad,
        Adadelta,
        ASGD,
        Rprop,
        Adafactor,
        LBFGS,
    )
}
