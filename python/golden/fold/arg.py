"""Ops that give positions: max.dim, argmax, topk, sort."""

from ..inputs import FLOATS, LAYOUTS, NAN, Gen, expanded, special, tensor
from ..record import Op
from .reduce import rows_with_nan

INTEGERS = ("i64", "i32", "i8", "u8")


def distinct(gen, shape, dtype):
    """Values without ties."""
    return gen.distinct(shape, dtype, 0.25 if dtype in FLOATS else 1)


def max_dim():
    """max.dim, min.dim: the value and the first index that has it."""
    for name in ("max.dim", "min.dim"):
        op, gen = Op(name), Gen(name)
        for dtype in FLOATS + INTEGERS:
            op.ok(self=distinct(gen, (2, 3, 4), dtype), dim=1)
            op.ok(self=distinct(gen, (2, 3, 4), dtype), dim=-1, keepdim=True)
        extremes_of(op, gen)
        op.ok(self=tensor([[True, False], [True, True], [False, False]], "bool"), dim=1, note="ties")
        op.ok(self=gen.normal((0, 3)), dim=1)
        op.bad(self=gen.normal((3, 0)), dim=1)


def extremes_of(op, gen):
    """Ties, NaN, signed zeros, sizes, layouts and bad dims of an op that folds one dimension."""
    for dtype in FLOATS:
        op.ok(self=gen.grid((3, 6), dtype, 0.5, 2), dim=1, note="ties")
    op.ok(self=gen.ints((3, 6), "i32", -2, 2), dim=1, note="ties")
    for dtype in ("f32", "f16", "bf16", "f64"):
        op.ok(self=tensor(rows_with_nan(), dtype), dim=1, note="ties")
        op.ok(self=tensor(rows_with_nan(), dtype), dim=0, note="ties")
    op.ok(self=tensor([[0.0, -0.0], [-0.0, 0.0]]), dim=1, note="ties")
    op.ok(self=special("f32"), dim=0)
    op.ok(self=tensor([1.0, NAN, 2.0, NAN]), dim=0, note="ties")
    for dim in (0, -1):
        op.ok(self=gen.normal(()), dim=dim)
    op.ok(self=gen.normal((3, 1)), dim=1)
    for layout in LAYOUTS:
        op.ok(self=layout(distinct(gen, (3, 2, 4), "f32")), dim=1)
        op.ok(self=layout(distinct(gen, (3, 2, 4), "f16")), dim=2)
    op.bad(self=gen.normal((2, 3)), dim=2)
    op.bad(self=gen.normal((2, 3)), dim=-3)


def argmax():
    """argmax, argmin, also over the flattened tensor."""
    for name in ("argmax", "argmin"):
        op, gen = Op(name), Gen(name)
        for dtype in FLOATS + INTEGERS:
            op.ok(self=distinct(gen, (2, 3, 4), dtype))
            op.ok(self=distinct(gen, (2, 3, 4), dtype), dim=1)
            op.ok(self=distinct(gen, (2, 3, 4), dtype), dim=-1, keepdim=True)
        extremes_of(op, gen)
        op.ok(self=distinct(gen, (2, 3), "f32"), keepdim=True)
        op.ok(self=gen.normal(()))
        op.ok(self=tensor(rows_with_nan()), note="ties")
        op.ok(self=gen.grid((3, 4), n=1), note="ties")
        for layout in LAYOUTS:
            op.ok(self=layout(distinct(gen, (3, 2, 4), "f32")), note="ties" if layout is expanded else None)
        op.bad(self=gen.normal((0,)))
        op.bad(self=gen.normal((3, 0)), dim=1)


def topk():
    """topk. The order of `sorted=False` is not defined, so it only appears with k = 1."""
    op, gen = Op("topk"), Gen("topk")
    for dtype in FLOATS + INTEGERS:
        for largest in (True, False):
            op.ok(self=distinct(gen, (2, 6), dtype), k=3, largest=largest)
    for k in (0, 1, 6):
        op.ok(self=distinct(gen, (2, 6), "f32"), k=k)
        op.ok(self=distinct(gen, (6, 2), "f32"), k=k, dim=0, largest=False)
    op.ok(self=distinct(gen, (2, 3, 4), "f32"), k=2, dim=1)
    op.ok(self=distinct(gen, (2, 3, 4), "bf16"), k=2, dim=-2)
    op.ok(self=distinct(gen, (2, 6), "f32"), k=1, sorted=False)
    for largest in (True, False):
        for dtype in ("f32", "f16", "bf16"):
            op.ok(self=tensor([[NAN, 1.0, 3.0, -2.0], [5.0, 2.0, NAN, 7.0]], dtype), k=2, largest=largest)
            op.ok(self=gen.grid((2, 6), dtype, 0.5, 2), k=3, largest=largest, note="ties")
        op.ok(self=tensor([[float("inf"), 1.0, -float("inf"), 0.5]]), k=4, largest=largest)
    op.ok(self=gen.normal(()), k=1)
    op.ok(self=gen.normal((0, 3)), k=2)
    for layout in LAYOUTS:
        op.ok(self=layout(distinct(gen, (3, 2, 4), "f32")), k=2)
        op.ok(self=layout(distinct(gen, (3, 2, 4), "f32")), k=2, dim=0, note="ties" if layout is expanded else None)
    op.bad(self=gen.normal((2, 3)), k=4)
    op.bad(self=gen.normal((2, 3)), k=-1)
    op.bad(self=gen.normal((2, 3)), k=1, dim=2)


def sort():
    """sort: NaN is the largest value."""
    op, gen = Op("sort"), Gen("sort")
    for dtype in FLOATS + INTEGERS:
        for descending in (False, True):
            op.ok(self=distinct(gen, (2, 6), dtype), descending=descending)
    for dim in (0, 1, -2):
        op.ok(self=distinct(gen, (3, 2, 4), "f32"), dim=dim)
        op.ok(self=distinct(gen, (3, 2, 4), "f16"), dim=dim, descending=True)
    for descending in (False, True):
        for dtype in ("f32", "f16", "bf16", "f64"):
            op.ok(self=tensor([[NAN, 1.0, 3.0, -2.0], [5.0, 2.0, NAN, 7.0]], dtype), descending=descending)
            op.ok(self=gen.grid((2, 6), dtype, 0.5, 2), descending=descending, note="ties")
        op.ok(self=special("f32"), descending=descending, note="ties")
        op.ok(self=tensor([0.0, -0.0, 0.0, -1.0]), descending=descending, note="ties")
        op.ok(self=gen.mask((6,)), descending=descending, note="ties")
    op.ok(self=gen.normal(()))
    op.ok(self=gen.normal((0, 3)))
    op.ok(self=gen.normal((3, 0)))
    for layout in LAYOUTS:
        op.ok(self=layout(distinct(gen, (3, 2, 4), "f32")))
        op.ok(self=layout(distinct(gen, (3, 2, 4), "f32")), dim=1)
    op.bad(self=gen.normal((2, 3)), dim=2)
    op.bad(self=gen.normal((2, 3)), dim=-3)


def cases():
    """Every case of this file."""
    max_dim()
    argmax()
    topk()
    sort()
