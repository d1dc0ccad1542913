"""``torch.distributions``: parameters in, samples and log probabilities out, made of ordinary operators."""

from __future__ import annotations

import math
from typing import Any

from engine.memory.tensors import dtypes
from engine.memory.tensors.pointwise import add, div, mul, pow_, sub
from engine.memory.tensors.reduction import sum_
from engine.memory.tensors.shaping import broadcast_tensors
from engine.memory.tensors.softmax import softmax_like
from engine.memory.tensors.storage import Size
from engine.memory.tensors.tensor import Tensor, new
from engine.memory.tensors.unary import log, neg


def _tensor(x: Any) -> Tensor:
    if isinstance(x, Tensor):
        return x
    out = new((), dtypes.float32, "cpu")
    out.values = [float(x)]
    return out


class Distribution:
    """The batch shape and what every distribution offers."""

    has_rsample = False

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: Any = None) -> None:
        self.batch_shape, self.event_shape = Size(batch_shape), Size(event_shape)

    def _like(self) -> Tensor:
        raise NotImplementedError

    def _shape(self, sample_shape: Any) -> tuple[int, ...]:
        return (*sample_shape, *self.batch_shape, *self.event_shape)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        base = self._like()
        return new(self._shape(sample_shape), base.dtype, base.storage.device)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.sample(sample_shape)

    def entropy(self) -> Tensor:
        return log(self._like())

    def log_prob(self, value: Tensor) -> Tensor:
        return log(self._like())


class Normal(Distribution):
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: Any = None) -> None:
        self.loc, self.scale = broadcast_tensors(_tensor(loc), _tensor(scale))
        super().__init__(self.loc.shape)

    mean = property(lambda self: self.loc)
    stddev = property(lambda self: self.scale)
    variance = property(lambda self: pow_(self.scale, 2))

    def _like(self) -> Tensor:
        return self.loc

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        noise = self.sample(sample_shape)
        return add(self.loc, mul(noise, self.scale))

    def log_prob(self, value: Tensor) -> Tensor:
        variance = pow_(self.scale, 2)
        scale = log(self.scale)
        return sub(
            sub(div(neg(pow_(sub(value, self.loc), 2)), mul(variance, 2)), scale), math.log(math.sqrt(2 * math.pi))
        )

    def entropy(self) -> Tensor:
        return add(log(self.scale), 1.4189)


class Categorical(Distribution):
    def __init__(self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: Any = None) -> None:
        if probs is not None:
            self.probs = div(probs, sum_(probs, -1, True))
            self.logits = log(self.probs)
        else:
            assert logits is not None
            self.logits = sub(logits, logits.logsumexp(-1, True))
            self.probs = softmax_like(self.logits, -1, None)
        super().__init__(self.logits.shape[:-1])

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return new(self._shape(sample_shape), dtypes.int64, self.logits.storage.device)

    def log_prob(self, value: Tensor) -> Tensor:
        found: Tensor = self.logits.gather(-1, value.long().unsqueeze(-1)).squeeze(-1)
        return found

    def entropy(self) -> Tensor:
        return neg(sum_(mul(self.logits, self.probs), -1))


class Bernoulli(Distribution):
    def __init__(self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: Any = None) -> None:
        given = probs if probs is not None else logits
        assert given is not None
        self.given = given
        super().__init__(given.shape)

    def _like(self) -> Tensor:
        return self.given


class Independent(Distribution):
    def __init__(self, base_distribution: Any, reinterpreted_batch_ndims: int, validate_args: Any = None) -> None:
        self.base_dist = base_distribution
        self.count = reinterpreted_batch_ndims
        shape = base_distribution.batch_shape
        super().__init__(shape[: len(shape) - self.count], shape[len(shape) - self.count :])

    mean = property(lambda self: self.base_dist.mean)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        found: Tensor = self.base_dist.rsample(sample_shape)
        return found

    sample = rsample

    def log_prob(self, value: Tensor) -> Tensor:
        return sum_(self.base_dist.log_prob(value), tuple(range(-self.count, 0)))


def kl_divergence(p: Any, q: Any) -> Tensor:
    if isinstance(p, Normal) and isinstance(q, Normal):
        ratio = pow_(div(p.scale, q.scale), 2)
        shifted = pow_(div(sub(p.loc, q.loc), q.scale), 2)
        return mul(sub(sub(add(ratio, shifted), 1), log(ratio)), 0.5)
    return sub(p.entropy(), q.entropy())


DISTRIBUTIONS: dict[str, Any] = {
    "Distribution": Distribution,
    "Normal": Normal,
    "Categorical": Categorical,
    "Bernoulli": Bernoulli,
    "Independent": Independent,
    "kl_divergence": kl_divergence,
}
KINDS = {
    "normal": "Normal",
    "categorical": "Categorical",
    "bernoulli": "Bernoulli",
    "independent": "Independent",
    "distribution": "Distribution",
}
