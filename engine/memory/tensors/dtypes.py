"""Element types: their size in bytes and torch's promotion lattice."""

from __future__ import annotations


class DType:
    """One ``torch.dtype``. ``rank`` orders the promotion within a kind: 0 bool, 1 integer, 2 floating, 3 complex."""

    __slots__ = ("is_complex", "is_floating_point", "is_signed", "itemsize", "kind", "name", "rank")

    def __init__(self, name: str, itemsize: int, kind: int, rank: int, signed: bool = True) -> None:
        self.name = name
        self.itemsize = itemsize
        self.kind = kind
        self.rank = rank
        self.is_floating_point = kind == 2
        self.is_complex = kind == 3
        self.is_signed = signed

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    __str__ = __repr__

    def __reduce__(self) -> str:
        return self.name

    def to_complex(self) -> DType:
        return {"float32": complex64, "float64": complex128}.get(self.name, complex64)

    def to_real(self) -> DType:
        return {"complex64": float32, "complex128": float64}.get(self.name, self)


bool_ = DType("bool", 1, 0, 0, False)
uint8 = DType("uint8", 1, 1, 1, False)
int8 = DType("int8", 1, 1, 2)
uint16 = DType("uint16", 2, 1, 3, False)
int16 = DType("int16", 2, 1, 3)
uint32 = DType("uint32", 4, 1, 4, False)
int32 = DType("int32", 4, 1, 4)
uint64 = DType("uint64", 8, 1, 5, False)
int64 = DType("int64", 8, 1, 5)
float8_e4m3fn = DType("float8_e4m3fn", 1, 2, 1)
float8_e5m2 = DType("float8_e5m2", 1, 2, 1)
float16 = DType("float16", 2, 2, 2)
bfloat16 = DType("bfloat16", 2, 2, 2)
float32 = DType("float32", 4, 2, 3)
float64 = DType("float64", 8, 2, 4)
complex32 = DType("complex32", 4, 3, 1)
complex64 = DType("complex64", 8, 3, 2)
complex128 = DType("complex128", 16, 3, 3)

NAMES: dict[str, DType] = {
    d.name: d
    for d in (
        bool_,
        uint8,
        int8,
        uint16,
        int16,
        uint32,
        int32,
        uint64,
        int64,
        float8_e4m3fn,
        float8_e5m2,
        float16,
        bfloat16,
        float32,
        float64,
        complex32,
        complex64,
        complex128,
    )
}
NAMES.update(
    half=float16,
    float=float32,
    double=float64,
    long=int64,
    int=int32,
    short=int16,
    cfloat=complex64,
    cdouble=complex128,
)


def promote(a: DType, b: DType) -> DType:
    """``torch.promote_types``."""
    if a is b:
        return a
    if a.kind != b.kind:
        high, low = (a, b) if a.kind > b.kind else (b, a)
        if high.kind == 3 and low is float64:
            return complex128
        return high
    if a.rank == b.rank:
        if a.kind == 2:
            return float32  # half and bfloat16
        return a if a.is_signed else b
    if a.kind == 1 and {a, b} == {uint8, int8}:
        return int16
    return a if a.rank > b.rank else b
