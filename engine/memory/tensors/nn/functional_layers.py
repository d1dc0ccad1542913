"""Activations, dropouts, pools, paddings and losses: modules that are one function with its settings kept."""

from __future__ import annotations

from typing import Any

from engine.memory.tensors.nn.module import Module
from engine.memory.tensors.registry import FUNCTIONAL
from engine.memory.tensors.tensor import Tensor

F = FUNCTIONAL


class Loss(Module):
    """``torch.nn.modules.loss._Loss``: what losses of programs inherit from."""

    def __init__(self, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction


class WeightedLoss(Loss):
    """``torch.nn.modules.loss._WeightedLoss``."""

    def __init__(
        self, weight: Any = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


_ALWAYS_THERE = {"reduction": "mean", "inplace": False}
"""Settings that every module which takes them has, given or not: programs read them."""


def _module(
    name: str,
    function: str,
    positional: tuple[str, ...] = (),
    defaults: dict[str, Any] | None = None,
    training: bool = False,
) -> type[Module]:
    """A module whose forward is ``F.function(*inputs, **settings)``."""
    given = {key: value for key, value in _ALWAYS_THERE.items() if key in positional} | (defaults or {})

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        Module.__init__(self)
        settings = dict(given)
        settings.update(zip(positional, args, strict=False))
        settings.update((k, v) for k, v in kwargs.items() if k in positional or k in given)
        for key, value in settings.items():
            self.__dict__[key] = value
        self._settings = tuple(settings)

    def forward(self: Any, *inputs: Any) -> Any:
        state = self.__dict__
        settings = {key: state[key] for key in state["_settings"]}
        if training:
            settings["training"] = self.training
        return F[function](*inputs, **settings)

    return type(name, (Module,), {"__init__": __init__, "forward": forward, "__module__": __name__})


_REDUCED: tuple[str, ...] = ("size_average", "reduce", "reduction")
_TABLE: dict[str, tuple[str, tuple[str, ...], dict[str, Any], bool]] = {
    "ReLU": ("relu", ("inplace",), {}, False),
    "ReLU6": ("relu6", ("inplace",), {}, False),
    "LeakyReLU": ("leaky_relu", ("negative_slope", "inplace"), {}, False),
    "ELU": ("elu", ("alpha", "inplace"), {}, False),
    "CELU": ("celu", ("alpha", "inplace"), {}, False),
    "SELU": ("selu", ("inplace",), {}, False),
    "GELU": ("gelu", ("approximate",), {}, False),
    "SiLU": ("silu", ("inplace",), {}, False),
    "Mish": ("mish", ("inplace",), {}, False),
    "Sigmoid": ("sigmoid", (), {}, False),
    "Tanh": ("tanh", (), {}, False),
    "Softplus": ("softplus", ("beta", "threshold"), {}, False),
    "Softsign": ("softsign", (), {}, False),
    "Softshrink": ("softshrink", ("lambd",), {}, False),
    "Hardshrink": ("hardshrink", ("lambd",), {}, False),
    "Tanhshrink": ("tanhshrink", (), {}, False),
    "Hardtanh": ("hardtanh", ("min_val", "max_val", "inplace"), {}, False),
    "Hardswish": ("hardswish", ("inplace",), {}, False),
    "Hardsigmoid": ("hardsigmoid", ("inplace",), {}, False),
    "LogSigmoid": ("logsigmoid", (), {}, False),
    "Threshold": ("threshold", ("threshold", "value", "inplace"), {}, False),
    "GLU": ("glu", ("dim",), {}, False),
    "Softmax": ("softmax", ("dim",), {"dim": None}, False),
    "LogSoftmax": ("log_softmax", ("dim",), {"dim": None}, False),
    "Softmin": ("softmin", ("dim",), {}, False),
    "Dropout": ("dropout", ("p", "inplace"), {"p": 0.5}, True),
    "Dropout1d": ("dropout1d", ("p", "inplace"), {"p": 0.5}, True),
    "Dropout2d": ("dropout2d", ("p", "inplace"), {"p": 0.5}, True),
    "Dropout3d": ("dropout3d", ("p", "inplace"), {"p": 0.5}, True),
    "AlphaDropout": ("alpha_dropout", ("p", "inplace"), {"p": 0.5}, True),
    "FeatureAlphaDropout": ("feature_alpha_dropout", ("p", "inplace"), {"p": 0.5}, True),
    "Upsample": (
        "interpolate",
        ("size", "scale_factor", "mode", "align_corners"),
        {"size": None, "scale_factor": None, "mode": "nearest"},
        False,
    ),
    "UpsamplingNearest2d": ("interpolate", ("size", "scale_factor"), {"size": None, "scale_factor": None}, False),
    "UpsamplingBilinear2d": (
        "interpolate",
        ("size", "scale_factor"),
        {"size": None, "scale_factor": None, "mode": "bilinear"},
        False,
    ),
    "PixelShuffle": ("pixel_shuffle", ("upscale_factor",), {}, False),
    "PixelUnshuffle": ("pixel_unshuffle", ("downscale_factor",), {}, False),
    "ChannelShuffle": ("channel_shuffle", ("groups",), {}, False),
    "Unfold": ("unfold", ("kernel_size", "dilation", "padding", "stride"), {}, False),
    "Fold": ("fold", ("output_size", "kernel_size", "dilation", "padding", "stride"), {}, False),
    "CosineSimilarity": ("cosine_similarity", ("dim", "eps"), {}, False),
    "PairwiseDistance": ("pairwise_distance", ("p", "eps", "keepdim"), {}, False),
    "CrossEntropyLoss": (
        "cross_entropy",
        ("weight", "size_average", "ignore_index", "reduce", "reduction", "label_smoothing"),
        {"ignore_index": -100},
        False,
    ),
    "NLLLoss": (
        "nll_loss",
        ("weight", "size_average", "ignore_index", "reduce", "reduction"),
        {"ignore_index": -100},
        False,
    ),
    "NLLLoss2d": ("nll_loss", ("weight", "size_average", "ignore_index", "reduce", "reduction"), {}, False),
    "MSELoss": ("mse_loss", _REDUCED, {}, False),
    "L1Loss": ("l1_loss", _REDUCED, {}, False),
    "SmoothL1Loss": ("smooth_l1_loss", (*_REDUCED, "beta"), {}, False),
    "HuberLoss": ("huber_loss", ("reduction", "delta"), {}, False),
    "BCELoss": ("binary_cross_entropy", ("weight", *_REDUCED), {}, False),
    "BCEWithLogitsLoss": ("binary_cross_entropy_with_logits", ("weight", *_REDUCED, "pos_weight"), {}, False),
    "KLDivLoss": ("kl_div", (*_REDUCED, "log_target"), {}, False),
    "HingeEmbeddingLoss": ("hinge_embedding_loss", ("margin", *_REDUCED), {}, False),
    "MarginRankingLoss": ("margin_ranking_loss", ("margin", *_REDUCED), {}, False),
    "CosineEmbeddingLoss": ("cosine_embedding_loss", ("margin", *_REDUCED), {}, False),
    "TripletMarginLoss": ("triplet_margin_loss", ("margin", "p", "eps", "swap", *_REDUCED), {}, False),
    "SoftMarginLoss": ("soft_margin_loss", _REDUCED, {}, False),
    "MultiMarginLoss": ("multi_margin_loss", ("p", "margin", "weight", *_REDUCED), {}, False),
    "MultiLabelMarginLoss": ("multilabel_margin_loss", _REDUCED, {}, False),
    "MultiLabelSoftMarginLoss": ("multilabel_soft_margin_loss", ("weight", *_REDUCED), {}, False),
    "PoissonNLLLoss": (
        "poisson_nll_loss",
        ("log_input", "full", "size_average", "eps", "reduce", "reduction"),
        {},
        False,
    ),
    "GaussianNLLLoss": ("gaussian_nll_loss", (), {"full": False, "eps": 1e-6, "reduction": "mean"}, False),
    "CTCLoss": ("ctc_loss", ("blank", "reduction", "zero_infinity"), {}, False),
}
for _n in (1, 2, 3):
    _TABLE[f"MaxPool{_n}d"] = (
        f"max_pool{_n}d",
        ("kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"),
        {"stride": None},
        False,
    )
    _TABLE[f"AvgPool{_n}d"] = (
        f"avg_pool{_n}d",
        ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"),
        {"stride": None},
        False,
    )
    _TABLE[f"AdaptiveAvgPool{_n}d"] = (f"adaptive_avg_pool{_n}d", ("output_size",), {}, False)
    _TABLE[f"AdaptiveMaxPool{_n}d"] = (f"adaptive_max_pool{_n}d", ("output_size", "return_indices"), {}, False)
    _TABLE[f"MaxUnpool{_n}d"] = (f"max_unpool{_n}d", ("kernel_size", "stride", "padding"), {}, False)
    _TABLE[f"LPPool{_n}d"] = (f"lp_pool{_n}d", ("norm_type", "kernel_size", "stride", "ceil_mode"), {}, False)

FUNCTIONS_AS_MODULES: dict[str, Any] = {name: _module(name, *row) for name, row in _TABLE.items()}


def _padding(name: str, mode: str, n: int) -> type[Module]:
    def __init__(self: Any, padding: Any, value: float = 0.0) -> None:
        Module.__init__(self)
        self.padding = (int(padding),) * (2 * n) if isinstance(padding, int) else tuple(padding)

    def forward(self: Any, x: Tensor) -> Any:
        return F["pad"](x, self.padding, mode=mode)

    return type(name, (Module,), {"__init__": __init__, "forward": forward})


for _prefix, _mode in (
    ("Constant", "constant"),
    ("Zero", "constant"),
    ("Reflection", "reflect"),
    ("Replication", "replicate"),
    ("Circular", "circular"),
):
    for _n in (1, 2, 3):
        FUNCTIONS_AS_MODULES[f"{_prefix}Pad{_n}d"] = _padding(f"{_prefix}Pad{_n}d", _mode, _n)
