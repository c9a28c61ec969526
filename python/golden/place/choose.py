"""Writes where an index or a mask says, and looking for elements."""

from ..inputs import FLOATS, INF, LAYOUTS, NAN, Gen, tensor
from ..record import Op, aten

DTYPES = FLOATS + ("i64", "i32", "u8", "bool")


def take():
    """Places in the flat tensor, from either end."""
    op, gen = Op("take"), Gen("take")
    for dtype in DTYPES:
        op.ok(self=gen.values((3, 4), dtype), index=gen.ints((2, 5), "i64", -12, 11))
    op.ok(self=gen.normal(()), index=tensor([0, -1, 0], "i64"))
    op.ok(self=gen.normal((0, 3)), index=tensor([], "i64"))
    op.ok(self=tensor([NAN, INF, -0.0]), index=gen.ints((), "i64", 0, 2))
    for layout in LAYOUTS:
        op.ok(self=layout(gen.normal((3, 4))), index=layout(gen.ints((3, 2), "i64", -12, 11)))
    op.bad(self=gen.normal((3,)), index=tensor([3], "i64"), note="values")
    op.bad(self=gen.normal((3,)), index=tensor([0], "i32"))


def slices():
    """index_copy and index_fill."""
    copy, gen = Op("index_copy"), Gen("index_copy")
    fill = Op("index_fill", aten("index_fill.int_Scalar"))
    for dtype in DTYPES:
        copy.ok(self=gen.values((3, 4), dtype), dim=1, index=tensor([2, 0], "i64"), source=gen.values((3, 2), dtype))
        fill.ok(self=gen.values((3, 4), dtype), dim=-1, index=tensor([2, -4, 2], "i64"), value=1)
    copy.ok(self=gen.normal((5,)), dim=0, index=tensor(3, "i64"), source=gen.normal((1,)))
    copy.ok(self=gen.normal((4, 0)), dim=0, index=tensor([1], "i64"), source=gen.normal((1, 0)))
    fill.ok(self=gen.normal((2, 3, 2)), dim=1, index=tensor(1, "i64"), value=NAN)
    fill.ok(self=gen.ints((5,), "i32"), dim=0, index=tensor([1, 4], "i64"), value=2.75)
    fill.ok(self=gen.normal((4,)), dim=0, index=tensor([], "i64"), value=INF)
    for layout in LAYOUTS:
        own = layout(gen.normal((4, 3)))
        copy.ok(self=own, dim=0, index=tensor([3, 1], "i64"), source=layout(gen.normal((2, 3))))
        fill.ok(self=own, dim=0, index=tensor([3, 1], "i64"), value=-1.5)
    copy.bad(self=gen.normal((3, 4)), dim=1, index=tensor([0, 1], "i64"), source=gen.normal((3, 3)))
    copy.bad(self=gen.normal((3, 4)), dim=1, index=tensor([4], "i64"), source=gen.normal((3, 1)), note="values")
    copy.bad(self=gen.normal((3,)), dim=0, index=tensor([0], "i64"), source=gen.normal((1,), "f16"))
    fill.bad(self=gen.normal((3, 4)), dim=2, index=tensor([0], "i64"), value=1)
    fill.bad(self=gen.normal((3, 4)), dim=0, index=tensor([3], "i64"), value=1, note="values")


def masked():
    """masked_scatter: mask and self broadcast."""
    op, gen = Op("masked_scatter"), Gen("masked_scatter")
    for dtype in DTYPES:
        op.ok(self=gen.values((3, 4), dtype), mask=gen.mask((3, 4)), source=gen.values((12,), dtype))
        op.ok(self=gen.values((3, 4), dtype), mask=gen.mask((4,)), source=gen.values((2, 7), dtype))
    op.ok(self=gen.normal((2, 3)), mask=tensor([[True], [False]], "bool"), source=gen.normal((3,)))
    op.ok(self=gen.normal((0, 3)), mask=gen.mask((0, 3)), source=gen.normal((0,)))
    for layout in LAYOUTS:
        op.ok(self=layout(gen.normal((3, 4))), mask=layout(gen.mask((3, 4))), source=layout(gen.normal((3, 4))))
    op.bad(self=gen.normal((3,)), mask=tensor([True, True, True], "bool"), source=gen.normal((2,)), note="values")
    op.bad(self=gen.normal((3,)), mask=gen.mask((3,)), source=gen.normal((3,), "f16"))
    op.bad(self=gen.normal((3,)), mask=gen.ints((3,)), source=gen.normal((3,)))


def members():
    """isin, and its opposite."""
    op, gen = Op("isin", aten("isin.Tensor_Tensor")), Gen("isin")
    for dtype in ("f32", "f64", "i64", "i32", "u8"):
        values = gen.grid if dtype in FLOATS else gen.ints
        for invert in (False, True):
            op.ok(elements=values((3, 4), dtype), test_elements=values((5,), dtype), invert=invert)
        op.ok(elements=values((4,), dtype), test_elements=values((60,), dtype))
    op.ok(elements=tensor([NAN, 0.0, -0.0, INF]), test_elements=tensor([NAN, -0.0, INF]))
    op.ok(elements=gen.ints((6,), "i32"), test_elements=gen.ints((4,), "i64"))
    op.ok(elements=gen.grid((3,)), test_elements=tensor([]))
    op.ok(elements=tensor([]), test_elements=gen.grid((3,)))
    for layout in LAYOUTS:
        op.ok(elements=layout(gen.grid((3, 4))), test_elements=gen.grid((2, 3)))
    op.bad(elements=gen.mask((3,)), test_elements=gen.mask((3,)))


def cases():
    """Every case of this file."""
    take()
    slices()
    masked()
    members()
