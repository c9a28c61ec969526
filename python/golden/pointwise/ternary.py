"""Ops of three tensors."""

from ..inputs import FLOATS, INF, LAYOUTS, NAN, Gen, channels_last, special, tensor
from ..record import Op, aten


def where():
    """where(condition, self, other)."""
    op, gen = Op("where", aten("where.self")), Gen("where")
    for dtype in FLOATS + ("i64", "i32", "i8", "u8", "bool"):
        op.ok(condition=gen.mask((3, 4)), self=gen.values((3, 4), dtype), other=gen.values((3, 4), dtype))
    for first, second in (
        ("f16", "bf16"),
        ("f32", "f64"),
        ("i32", "f32"),
        ("i64", "f16"),
        ("u8", "i8"),
        ("bool", "f32"),
    ):
        op.ok(condition=gen.mask((5,)), self=gen.values((5,), first), other=gen.values((5,), second))
        op.ok(condition=gen.mask((5,)), self=gen.values((5,), first), other=gen.values((), second))
    op.ok(condition=gen.mask((3, 1)), self=gen.normal((1, 4)), other=gen.normal((2, 1, 1)))
    op.ok(condition=gen.mask(()), self=gen.normal((2, 3)), other=gen.normal(()))
    op.ok(condition=gen.mask(()), self=gen.normal(()), other=gen.normal(()))
    op.ok(condition=gen.mask((0, 3)), self=gen.normal((3,)), other=gen.normal((1, 3)))
    op.ok(condition=gen.mask((27,)), self=special("f32"), other=tensor([NAN]))
    for layout in LAYOUTS:
        op.ok(condition=layout(gen.mask((3, 2, 2))), self=layout(gen.normal((3, 2, 2))), other=gen.normal((3, 2, 2)))
    op.bad(condition=gen.normal((3,)), self=gen.normal((3,)), other=gen.normal((3,)))
    op.bad(condition=gen.mask((3,)), self=gen.normal((2,)), other=gen.normal((3,)))


def masked_fill():
    """masked_fill with a scalar and with a 0-d tensor."""
    scalar, value = Op("masked_fill.Scalar"), Op("masked_fill.Tensor")
    gen = Gen("masked_fill")

    def both(x, mask, v, dtype=None):
        scalar.ok(self=x, mask=mask, value=v)
        value.ok(self=x, mask=mask, value=tensor(v, dtype or ("f32" if isinstance(v, float) else "i64")))

    for dtype in FLOATS:
        both(gen.normal((3, 4), dtype), gen.mask((3, 4)), -1.5)
        both(gen.normal((3, 4), dtype), gen.mask((4,)), 7)
        both(gen.normal((2, 3), dtype), gen.mask((2, 1)), -INF)
    both(gen.normal((6,)), gen.mask((6,)), NAN)
    both(gen.normal((6,), "f16"), gen.mask((6,)), 0.1)
    for dtype in ("i64", "i32", "i8", "u8"):
        both(gen.ints((5,), dtype), gen.mask((5,)), 3)
    both(gen.mask((5,)), gen.mask((5,)), True, "bool")
    both(gen.normal((3,)), gen.mask((2, 3)), 0.0)
    both(gen.normal((2, 1)), gen.mask((1, 3)), 0.0)
    both(gen.normal(()), gen.mask(()), 2.0)
    both(gen.normal(()), gen.mask((3,)), 2.0)
    both(gen.normal((0, 3)), gen.mask((3,)), 2.0)
    both(special("f32"), gen.mask((27,)), -0.0)
    for layout in LAYOUTS:
        both(layout(gen.normal((3, 2, 2))), layout(gen.mask((3, 2, 2))), 9.0)
    scalar.bad(self=gen.normal((3,)), mask=gen.normal((3,)), value=1.0)
    scalar.bad(self=gen.normal((3,)), mask=gen.mask((2,)), value=1.0)
    value.bad(self=gen.normal((3,)), mask=gen.mask((3,)), value=tensor([1.0, 2.0, 3.0]))
    value.bad(self=gen.normal((3,)), mask=gen.mask((2,)), value=tensor(1.0))


def addc():
    """addcmul and addcdiv."""
    for name in ("addcmul", "addcdiv"):
        op, gen = Op(name), Gen(name)

        def three(shapes, dtypes=("f32",) * 3, layout=lambda t: t, op=op, gen=gen, **options):
            x, a, b = (layout(gen.normal(shape, dtype)) for shape, dtype in zip(shapes, dtypes))
            op.ok(self=x, tensor1=a, tensor2=b, **options)

        for dtype in FLOATS:
            three([(3, 4)] * 3, [dtype] * 3)
            three([(3, 4)] * 3, [dtype] * 3, value=-0.5)
        for dtypes in (("f16", "bf16", "f16"), ("f32", "f64", "f32"), ("f32", "f16", "f16")):
            three([(5,)] * 3, dtypes, value=2)
        for shapes in (
            ((3, 1), (1, 4), (2, 1, 1)),
            ((), (3,), ()),
            ((2, 3), (), ()),
            ((), (), ()),
            ((0, 3), (3,), (1, 3)),
        ):
            three(shapes, value=0.25)
        for layout in LAYOUTS:
            three([(3, 2, 2)] * 3, layout=layout)
        three([(2, 3, 2, 2)] * 3, layout=channels_last, value=0.0)
        edge = special("f32")[:-4].clone()  # products of the largest values overflow in f32 only
        op.ok(self=edge, tensor1=edge.flip(0).clone(), tensor2=edge.roll(5).clone())
        op.ok(self=edge.half(), tensor1=edge.flip(0).half(), tensor2=edge.roll(5).half(), value=2)
        op.bad(self=gen.normal((3,)), tensor1=gen.normal((2,)), tensor2=gen.normal((3,)))
        if name == "addcmul":
            for dtype in ("i64", "i32", "i8"):
                op.ok(self=gen.ints((5,), dtype), tensor1=gen.ints((5,), dtype), tensor2=gen.ints((5,), dtype), value=2)
        else:
            op.bad(self=gen.ints((3,)), tensor1=gen.ints((3,)), tensor2=gen.ints((3,), "i64", 1, 4))


def lerp():
    """lerp with a scalar weight and with a tensor of weights."""
    scalar, weights = Op("lerp.Scalar"), Op("lerp.Tensor")
    gen = Gen("lerp")
    for dtype in FLOATS:
        for weight in (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, -0.5):
            scalar.ok(self=gen.normal((5,), dtype), end=gen.normal((5,), dtype), weight=weight)
        weights.ok(self=gen.normal((3, 4), dtype), end=gen.normal((3, 4), dtype), weight=gen.uniform((3, 4), dtype))
        weights.ok(self=gen.normal((3, 4), dtype), end=gen.normal((4,), dtype), weight=gen.uniform((), dtype))
    for first, second in (((3, 1), (1, 4)), ((), (3,)), ((), ()), ((0, 3), (3,))):
        scalar.ok(self=gen.normal(first), end=gen.normal(second), weight=0.3)
        weights.ok(self=gen.normal(first), end=gen.normal(second), weight=gen.uniform(second))
    weights.ok(self=gen.normal((3, 1)), end=gen.normal((1, 4)), weight=gen.uniform((2, 1, 1), "f32", -1, 2))
    scalar.ok(self=special("f32"), end=special("f32").flip(0).clone(), weight=0.25)
    scalar.ok(self=special("f32"), end=special("f32").flip(0).clone(), weight=0.75)
    weights.ok(self=special("f32"), end=special("f32").flip(0).clone(), weight=tensor(0.5))
    for layout in LAYOUTS:
        scalar.ok(self=layout(gen.normal((3, 2, 2))), end=layout(gen.normal((3, 2, 2))), weight=0.6)
        weights.ok(self=gen.normal((3, 2, 2)), end=layout(gen.normal((3, 2, 2))), weight=layout(gen.uniform((3, 2, 2))))
    for op, weight in ((scalar, 0.5), (weights, tensor([0.5, 0.5, 0.5]))):
        op.bad(self=gen.normal((3,)), end=gen.normal((2,)), weight=weight)
        op.bad(self=gen.normal((3,)), end=gen.normal((3,), "f64"), weight=weight)
        op.bad(self=gen.ints((3,)), end=gen.ints((3,)), weight=weight)


def cases():
    """Every case of this file."""
    where()
    masked_fill()
    addc()
    lerp()
