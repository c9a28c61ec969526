"""Padding."""

from ..inputs import FLOATS, INF, LAYOUTS, NAN, Gen, channels_last, special
from ..record import OPS, Op, aten
from .movement import common


def constant():
    """constant_pad_nd; negative widths cut."""
    op, gen = Op("constant_pad_nd"), Gen("constant_pad_nd")
    common(
        op,
        gen,
        (2, 3),
        [
            {"pad": [1, 2]},
            {"pad": [1, 1, 0, 2], "value": 1.5},
            {"pad": [2, 0], "value": NAN},
            {"pad": [-1, 2], "value": -3},
            {"pad": [0, 0]},
            {"pad": []},
            {"pad": [0, 1, -1, 1], "value": -INF},
            {"pad": [-1, -1, 1, 1]},
            {"pad": [1, 0, 0, 1], "value": 7},
        ],
        [{"pad": [1]}, {"pad": [1, 1, 1, 1, 1, 1]}, {"pad": [-2, -2]}],
    )
    op.ok(self=gen.normal((2, 2), "f16"), pad=[1, 1], value=0.1)
    op.ok(self=gen.ints((2, 2), "i32"), pad=[1, 1], value=3)
    op.ok(self=gen.normal((0, 2)), pad=[1, 1])
    op.ok(self=gen.normal((0, 2)), pad=[0, 0, 2, 1], value=2)
    op.ok(self=gen.normal((1, 2, 2, 2)), pad=[1, 0, 0, 1, 1, 0], value=2)
    op.ok(self=special("f32"), pad=[1, 0], value=-0.0)


def mirrored():
    """reflection_pad1d, reflection_pad2d, replication_pad2d."""
    op, gen = Op("reflection_pad1d"), Gen("reflection_pad1d")
    for dtype in FLOATS + ("i64",):
        for padding in ([1, 2], [0, 0], [3, 3]):
            op.ok(self=gen.values((2, 2, 4), dtype), padding=padding)
    op.ok(self=gen.normal((2, 4)), padding=[2, 1])
    op.ok(self=gen.normal((0, 2, 4)), padding=[2, 1])
    op.ok(self=special("f32").reshape(3, 9).clone(), padding=[4, 0])
    op.bad(self=gen.normal((2, 4)), padding=[4, 0])
    op.bad(self=gen.normal((4,)), padding=[1, 1])
    for name, dims, reflects in (
        ("reflection_pad3d", 3, True),
        ("replication_pad1d", 1, False),
        ("replication_pad3d", 3, False),
        ("pad_circular", 2, True),
    ):
        op, gen = Op(name, aten("_pad_circular") if name == "pad_circular" else None), Gen(name)
        key = "pad" if name == "pad_circular" else "padding"
        shape = (2, 2, 3, 4, 3)[: dims + 2]
        for dtype in FLOATS + ("i64",):
            for padding in ([1, 2, 0, 1, 1, 0], [0] * 6, [2, 0, 1, 2, 1, 1], [-1, 2, 1, -1, 0, 1]):
                op.ok(self=gen.values(shape, dtype), **{key: padding[: 2 * dims]})
        op.ok(self=gen.normal((0, *shape[1:])), **{key: [1] * (2 * dims)})
        if name != "pad_circular":
            op.ok(self=gen.normal(shape[1:]), **{key: [1] * (2 * dims)})
        for layout in LAYOUTS:
            op.ok(self=layout(gen.normal(shape)), **{key: [1, 0] * dims})
        op.bad(self=gen.normal(shape), **{key: [1, 1, 1]})
        if reflects:
            op.bad(self=gen.normal(shape), **{key: [5] * (2 * dims)})
    for name in ("reflection_pad2d", "replication_pad2d"):
        op, gen = Op(name), Gen(name)
        common_float(
            op,
            gen,
            [
                {"padding": [1, 2, 0, 1]},
                {"padding": [0, 0, 0, 0]},
                {"padding": [2, 2, 1, 1]},
                {"padding": [1, 0, 1, 2]},
            ],
        )
        op.ok(self=gen.normal((2, 3, 4)), padding=[1, 1, 2, 2])
        op.ok(self=gen.normal((0, 2, 3, 4)), padding=[1, 1, 1, 1])
        op.bad(self=gen.normal((3, 4)), padding=[1, 1, 1, 1])
    op.ok(self=gen.normal((1, 1, 2, 2)), padding=[5, 1, 0, 4])
    OPS["reflection_pad2d"].bad(self=gen.normal((1, 1, 3, 3)), padding=[3, 0, 0, 0])


def common_float(op, gen, options):
    """Floats and i64 with every option, and the layouts."""
    for dtype in FLOATS + ("i64",):
        op.ok(self=gen.values((1, 2, 3, 3), dtype), **options[0])
    for option in options[1:]:
        op.ok(self=gen.normal((1, 2, 3, 3)), **option)
    for layout in (*LAYOUTS, channels_last):
        op.ok(self=layout(gen.normal((2, 2, 3, 3))), **options[-1])


def cases():
    """Every case of this file."""
    constant()
    mirrored()
