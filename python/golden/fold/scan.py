"""Cumulative ops."""

from ..inputs import DTYPES, FLOATS, INF, LAYOUTS, NAN, Gen, tensor
from ..record import Op
from .reduce import rows_with_nan


def common(op, gen, dtypes):
    """Dims, sizes, layouts and special values."""
    for dtype in dtypes:
        x = gen.normal if dtype in FLOATS else gen.ints
        for dim in (0, 1, -1):
            op.ok(self=x((2, 3, 4), dtype), dim=dim, note=None if dtype in FLOATS else "ties")
    for shape, dim in (((), 0), ((), -1), ((1,), 0), ((0, 3), 0), ((0, 3), 1), ((7,), -1), ((2, 24), 1)):
        op.ok(self=gen.normal(shape), dim=dim)
    for layout in LAYOUTS:
        op.ok(self=layout(gen.normal((3, 2, 4))), dim=1)
        op.ok(self=layout(gen.normal((3, 2, 4))), dim=2)
    op.bad(self=gen.normal((2, 3)), dim=2)
    op.bad(self=gen.normal((2, 3)), dim=-3)


def sums_and_products():
    """cumsum and cumprod."""
    for name in ("cumsum", "cumprod"):
        op, gen = Op(name), Gen(name)
        common(op, gen, FLOATS)
        for dtype in ("f32", "f16", "bf16"):
            op.ok(self=tensor(rows_with_nan(), dtype), dim=1)
            op.ok(self=tensor(rows_with_nan(), dtype), dim=0)
        for dtype in ("i64", "i32", "i8", "u8", "bool"):
            op.ok(self=gen.ints((2, 4), dtype), dim=1)
        op.ok(self=gen.ints((2, 4), "i32"), dim=1, dtype=DTYPES["f32"])
        op.ok(self=gen.normal((2, 4), "f16"), dim=1, dtype=DTYPES["f32"])
        op.ok(self=gen.normal((2, 4), "f32"), dim=0, dtype=DTYPES["f64"])
        op.ok(self=tensor([100, 100, 2], "i8"), dim=0)
        op.ok(self=tensor([100, 100, 2], "i8"), dim=0, dtype=DTYPES["i8"])


def logcumsumexp():
    """logcumsumexp."""
    op, gen = Op("logcumsumexp"), Gen("logcumsumexp")
    common(op, gen, FLOATS)
    rows = [
        [-INF, -INF, 1.0],
        [INF, 1.0, 2.0],
        [1.0, INF, -INF],
        [NAN, 1.0, 2.0],
        [1.0, NAN, 2.0],
        [1000.0, 1000.0, -1000.0],
    ]
    for dtype in ("f32", "f64", "bf16"):
        op.ok(self=tensor(rows, dtype), dim=1)
    op.bad(self=gen.ints((2, 3)), dim=1)


def cummax():
    """cummax and cummin: the index is that of the last of equal values."""
    for name in ("cummax", "cummin"):
        op, gen = Op(name), Gen(name)
        common(op, gen, FLOATS + ("i64", "i32", "i8", "u8"))
        for dtype in ("f32", "f16", "bf16"):
            op.ok(self=tensor(rows_with_nan(), dtype), dim=1, note="ties")
            op.ok(self=tensor(rows_with_nan(), dtype), dim=0, note="ties")
            op.ok(self=gen.grid((3, 6), dtype, 0.5, 2), dim=1, note="ties")
        op.ok(self=tensor([1.0, NAN, 2.0, NAN, 5.0]), dim=0, note="ties")
        op.ok(self=tensor([0.0, -0.0, 0.0, -0.0]), dim=0, note="ties")
        op.ok(self=tensor([False, True, False, True], "bool"), dim=0, note="ties")
        op.ok(self=gen.ints((2, 6), "i32", -2, 2), dim=1, note="ties")


def cases():
    """Every case of this file."""
    sums_and_products()
    logcumsumexp()
    cummax()
