"""`numpy`, as far as training scripts use it: arrays are shadow tensors on the CPU, small computations are real."""

from __future__ import annotations

import builtins
import functools
import math
import operator
import statistics
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from engine.memory.libraries.torch_data import is_tensor
from engine.memory.program.namespaces import Namespace
from engine.memory.program.unknown import Unknown
from engine.memory.tensors import namespace

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter

_DTYPES = {
    "float64": "float64", "float32": "float32", "float16": "float16", "int64": "int64", "int32": "int32", "int16": "int16",  # noqa: E501
    "int8": "int8", "uint8": "uint8", "bool_": "bool", "double": "float64", "half": "float16", "single": "float32",
    "uint16": "int32", "uint32": "int64",
}  # fmt: skip


_SAME_NAME = (
    "all any amax amin argmax argmin argsort bincount broadcast_to clip cov cross diag diff dot dstack "
    "einsum fliplr flip flipud hstack isclose kron logical_and logical_not logical_or matmul maximum mean median "
    "meshgrid minimum moveaxis ones_like outer ravel reshape roll rot90 round sign sort square squeeze stack std "
    "sum swapaxes tensordot tile trace tril triu var vstack where zeros_like"
)
_OF_TORCH = {name: name for name in _SAME_NAME.split()} | {
    "append": "cat",
    "clip": "clamp",
    "concatenate": "cat",
    "degrees": "rad2deg",
    "max": "amax",
    "min": "amin",
    "mod": "remainder",
    "power": "pow",
    "radians": "deg2rad",
    "remainder": "remainder",
    "repeat": "repeat_interleave",
}
"""Functions of numpy and the functions of torch that give an array of the same shape."""
_OVER_SEVERAL = frozenset(("append", "concatenate", "dstack", "einsum", "hstack", "meshgrid", "stack", "vstack"))
"""Those whose first argument is several arrays, or none."""


def dtype_of(value: Any, fallback: str) -> Any:
    """A torch dtype for a numpy one."""
    if value is None:
        return namespace(f"torch.{fallback}")
    if value in (builtins.float, builtins.int, builtins.bool):
        return namespace({float: "torch.float64", int: "torch.int64", bool: "torch.bool"}[value])
    if isinstance(value, str):
        return namespace(f"torch.{_DTYPES.get(value, fallback)}")
    return value


class Array:
    """A numpy array: a tensor on the CPU."""

    open_record = True

    def __init__(self, tensor: Any) -> None:
        self.__dict__["tensor"] = tensor

    def to_tensor(self) -> Any:
        """The tensor."""
        return self.tensor

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Array:
        return Array(self.tensor.to(dtype_of(dtype, "float64")))

    def copy(self) -> Array:
        return Array(self.tensor.clone())

    @property
    def shape(self) -> Any:
        return self.tensor.shape

    @property
    def size(self) -> int:
        return int(self.tensor.numel())

    @property
    def T(self) -> Array:
        return Array(self.tensor.T)

    def transpose(self, *axes: Any) -> Array:
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], (list, tuple)) else axes
        return Array(self.tensor.permute(*order) if order else self.tensor.T)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = getattr(self.tensor, name)
        return lifted(value) if callable(value) else value

    def __len__(self) -> int:
        return len(self.tensor)

    def __getitem__(self, key: Any) -> Any:
        return lift(self.tensor[lower(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self.tensor[lower(key)] = lower(value)

    def __neg__(self) -> Array:
        return Array(-self.tensor)

    def __float__(self) -> float:
        return float(self.tensor.item())

    def __int__(self) -> int:
        return int(self.tensor.item())

    def __index__(self) -> int:
        return int(self.tensor.item())

    def __bool__(self) -> bool:
        return bool(self.tensor)

    def __iter__(self) -> Any:
        return (lift(self.tensor[index]) for index in range(len(self.tensor)))


def lower(value: Any) -> Any:
    """Arrays as tensors, also inside tuples and lists."""
    if isinstance(value, Array):
        return value.tensor
    if isinstance(value, (tuple, list)):
        return type(value)([lower(item) for item in value])
    return value


def lift(value: Any) -> Any:
    """Tensors as arrays."""
    return Array(value) if is_tensor(value) else value


def lifted(function: Any) -> Any:
    """A tensor function over arrays; `axis` is `dim`."""

    def apply(*args: Any, **kwargs: Any) -> Any:
        if "axis" in kwargs:
            kwargs["dim"] = kwargs.pop("axis")
        if "keepdims" in kwargs:
            kwargs["keepdim"] = kwargs.pop("keepdims")
        kwargs.pop("dtype", None)
        return lift(function(*[lower(arg) for arg in args], **{key: lower(value) for key, value in kwargs.items()}))

    return apply


def _over_array(function: Any) -> Any:
    """A tensor function over one array, or over the numbers of a list."""
    over_arrays = lifted(function)

    def apply(value: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(value, Unknown):
            return value
        return over_arrays(array(value) if isinstance(value, (list, tuple, int, float)) else value, *args, **kwargs)

    return apply


_OVER_ALL: dict[str, Any] = {
    "all": all,
    "any": any,
    "argmax": lambda values: values.index(max(values)),
    "argmin": lambda values: values.index(min(values)),
    "max": max,
    "median": statistics.median,
    "min": min,
}
"""Reductions over all elements, for arrays whose numbers are known."""


def _reduction(name: str, function: Any) -> Any:
    over_array = _over_array(function)

    def apply(value: Any, *args: Any, **kwargs: Any) -> Any:
        given = array(value) if isinstance(value, (list, tuple)) else value
        known = getattr(lower(given), "values", None)
        if not known or args or kwargs:
            return over_array(given, *args, **kwargs)
        found = _OVER_ALL[name](known)
        return found if isinstance(found, bool) else (Whole(found) if isinstance(found, int) else Scalar(found))

    return apply


def _running(function: Any, value: Any, dim: int | None = None) -> Any:
    """`np.cumsum` and `np.cumprod`: over all elements where no axis is named."""
    return function(value, dim) if dim is not None else function(value.reshape(-1), 0)


def _binary(name: str) -> Any:
    apply = getattr(operator, name)

    def forward(self: Array, other: Any) -> Any:
        return lift(apply(self.tensor, lower(other)))

    def backward(self: Array, other: Any) -> Any:
        return lift(apply(lower(other), self.tensor))

    return forward, backward


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"):
    _forward, _backward = _binary(_name)
    setattr(Array, f"__{_name}__", _forward)
    setattr(Array, f"__r{_name}__", _backward)
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Array, f"__{_name}__", _binary(_name)[0])


def _shape(shape: Any) -> list[int]:
    return [int(size) for size in shape] if isinstance(shape, (list, tuple)) else [int(shape)]


def _creator(name: str, fallback: str = "float64") -> Any:
    def create(shape: Any, *args: Any, dtype: Any = None, **kwargs: Any) -> Any:
        if isinstance(shape, Unknown):
            return shape
        return Array(namespace(f"torch.{name}")(*_shape(shape), dtype=dtype_of(dtype, fallback)))

    return create


class Scalar(float):
    """A number that numpy gives: a float with the methods of an array of no dimensions."""

    open_record = True
    shape: tuple[int, ...] = ()
    ndim = 0
    size = 1

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        return Whole(self) if "int" in str(getattr(dtype, "__name__", dtype)) else Scalar(self)

    def item(self) -> Any:
        return float(self)

    def tolist(self) -> float:
        return float(self)


class Whole(int):
    """The same for a whole number."""

    open_record = True
    shape: tuple[int, ...] = ()
    ndim = 0
    size = 1

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        return Scalar(self) if "float" in str(getattr(dtype, "__name__", dtype)) else self

    def item(self) -> int:
        return int(self)

    tolist = item


def _scalar_or_array(function: Any, name: str) -> Any:
    over_arrays = namespace(f"torch.{name}")

    def apply(value: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(value, (int, float)):
            return Scalar(function(value, *args))
        if isinstance(value, (list, tuple)):
            value = array(value)
        return lifted(over_arrays)(value, *args, **kwargs)

    return apply


def array(value: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
    """`np.array`."""
    if isinstance(value, Unknown):
        return value
    if isinstance(value, Array):
        return value if dtype is None else value.astype(dtype)
    if is_tensor(value):
        return Array(value)
    if hasattr(value, "height") and hasattr(value, "channels"):
        return Array(
            namespace("torch.empty")(value.height, value.width, value.channels, dtype=namespace("torch.uint8"))
        )
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], Array):
        return Array(namespace("torch.stack")([item.tensor for item in value]))
    made = namespace("torch.tensor")(value)
    if dtype is not None:
        made = made.to(dtype_of(dtype, "float64"))
    elif made.is_floating_point():
        made = made.to(namespace("torch.float64"))
    return Array(made)


def _at_least(dimensions: int, value: Any) -> Any:
    """`np.atleast_1d` and its kin."""
    made = array([value] if isinstance(value, (int, float)) else value)
    if isinstance(made, Unknown):
        return made
    while len(made.shape) < dimensions:
        made = Array(made.tensor.unsqueeze(0))
    return made


def _arange(*bounds: Any, dtype: Any = None) -> Array:
    return Array(
        namespace("torch.arange")(*bounds)
        if dtype is None
        else namespace("torch.arange")(*bounds, dtype=dtype_of(dtype, "int64"))
    )


def _linspace(start: Any, stop: Any, count: Any = 50, *args: Any, dtype: Any = None, **kwargs: Any) -> Array:
    return Array(namespace("torch.linspace")(start, stop, int(count), dtype=dtype_of(dtype, "float64")))


def _prod(values: Any, *args: Any, **kwargs: Any) -> Any:
    return (
        math.prod(values)
        if isinstance(values, (list, tuple))
        else lifted(namespace("torch.prod"))(values, *args, **kwargs)
    )


def _random() -> Namespace:
    def normal(*shape: Any, **kwargs: Any) -> Any:
        return Array(namespace("torch.randn")(*shape, dtype=namespace("torch.float64"))) if shape else 0.5

    def sized(*args: Any, size: Any = None, **kwargs: Any) -> Any:
        return _creator("rand")(size) if size is not None else 0.5

    def whole(low: Any, high: Any = None, size: Any = None, **kwargs: Any) -> Any:
        return _creator("zeros", "int64")(size) if size is not None else (0 if high is None else low)

    members: dict[str, Any] = dict.fromkeys(("rand", "randn", "random_sample", "random"), normal)
    members.update(
        dict.fromkeys(("normal", "uniform", "standard_normal", "beta", "exponential", "poisson", "binomial"), sized)
    )
    members.update(
        randint=whole,
        integers=whole,
        choice=lambda values, size=None, *a, **k: (
            (values[0] if hasattr(values, "__getitem__") else 0) if size is None else whole(0, 1, size)
        ),
        seed=lambda *a: None,
        shuffle=lambda *a: None,
        permutation=lambda value: _arange(value) if isinstance(value, int) else value,
        get_state=lambda: None,
    )
    members["default_rng"] = lambda *a: SimpleNamespace(**members)
    members["RandomState"] = lambda *a: SimpleNamespace(**members)
    return Namespace("numpy.random", members)


def provide(interpreter: Interpreter, dotted: str) -> Any:
    """`numpy` and `numpy.random`."""
    members: dict[str, Any] = interpreter.state.setdefault("numpy names", {})
    if not members:
        for name, target in _DTYPES.items():
            members[name] = namespace(f"torch.{target}")
        for name in ("zeros", "ones", "empty"):
            members[name] = _creator(name)
        for name in ("sqrt", "exp", "log", "sin", "cos", "tanh", "floor", "ceil", "log2", "log10"):
            members[name] = _scalar_or_array(getattr(math, name), name)
        for name, target in _OF_TORCH.items():
            found = namespace(f"torch.{target}")
            if found is not None:
                members[name] = lifted(found) if name in _OVER_SEVERAL else _over_array(found)
        for name in _OVER_ALL:
            members[name] = _reduction(name, namespace(f"torch.{_OF_TORCH[name]}"))
        for name in ("cumsum", "cumprod"):
            members[name] = _over_array(functools.partial(_running, namespace(f"torch.{name}")))
        for dimensions in (1, 2, 3):
            members[f"atleast_{dimensions}d"] = functools.partial(_at_least, dimensions)
        members.update(
            array=array,
            asarray=array,
            ascontiguousarray=array,
            ndarray=Array,
            arange=_arange,
            linspace=_linspace,
            prod=_prod,
            full=lambda shape, value, dtype=None: _creator("zeros")(shape, dtype=dtype),
            eye=lambda size, *a, **k: Array(namespace("torch.eye")(size)),
            random=_random(),
            pi=math.pi,
            inf=math.inf,
            nan=math.nan,
            newaxis=None,
            abs=lambda value: abs(value) if isinstance(value, (int, float)) else lift(abs(lower(value))),
            isnan=lambda value: False,
            load=lambda *a, **k: Unknown("an array file that is not in the repository"),
            memmap=lambda *a, shape=None, dtype=None, **k: _creator("zeros")(
                shape or 1_000_000, dtype=dtype or "uint16"
            ),
            save=lambda *a, **k: None,
            savez=lambda *a, **k: None,
            set_printoptions=lambda *a, **k: None,
            expand_dims=lambda value, axis: lift(lower(value).unsqueeze(axis)),
            transpose=lambda value, axes=None: value.transpose(*(axes or ())),
            bool=namespace("torch.bool"),
            typing=Namespace("numpy.typing", {"NDArray": Array, "ArrayLike": Any}),
        )
    value: Any = Namespace("numpy", members)
    for part in dotted.split(".")[1:]:
        value = getattr(value, part, None)
    return value
