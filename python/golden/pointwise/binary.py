"""Ops of two tensors, or of a tensor and a scalar."""

import math

from ..inputs import DTYPES, FLOATS, INF, LAYOUTS, NAN, Gen, channels_last, gapped, special, tensor, transposed
from ..record import OPS, Op, aten

# Pairs of dtypes of two 1-d tensors: equal ones and mixtures.
PAIRS = [
    ("f16", "bf16"),
    ("f16", "f32"),
    ("f32", "f64"),
    ("bf16", "f64"),
    ("i32", "f32"),
    ("i64", "f16"),
    ("bf16", "u8"),
    ("bool", "f32"),
    ("f64", "i8"),
    ("i64", "i64"),
    ("i32", "i32"),
    ("i8", "i8"),
    ("u8", "u8"),
    ("i32", "i64"),
    ("u8", "i8"),
    ("i16", "u8"),
    ("bool", "i8"),
    ("bool", "bool"),
]
# A dimensioned tensor with a 0-d one: the 0-d one counts only when of a higher category.
RANK_PAIRS = [
    ("f16", "f32"),
    ("f32", "f64"),
    ("i32", "f32"),
    ("i8", "i64"),
    ("f16", "i64"),
    ("bool", "i32"),
    ("i64", "f64"),
]

LEFT = [
    NAN,
    1.0,
    INF,
    INF,
    -INF,
    0.0,
    -0.0,
    0.0,
    -0.0,
    1.0,
    -1.0,
    5.5,
    -5.5,
    5.5,
    -5.5,
    3e38,
    1e-40,
    7.0,
    6.0,
    NAN,
    INF,
]
RIGHT = [
    1.0,
    NAN,
    INF,
    -INF,
    INF,
    0.0,
    0.0,
    -0.0,
    -0.0,
    0.0,
    0.0,
    2.0,
    2.0,
    -2.0,
    -2.0,
    3e38,
    1e-3,
    INF,
    -INF,
    NAN,
    2.0,
]

SHAPES = [
    ((3, 4), (4,)),
    ((3, 1), (1, 4)),
    ((2, 1, 3), (4, 1)),
    ((), (2, 3)),
    ((2, 3), ()),
    ((), ()),
    ((0, 3), (3,)),
    ((0, 3), (1, 3)),
    ((2, 1), (2, 0)),
    ((1,), (5,)),
]


def pair_values(gen, shape, dtype, which):
    """Values for operand `which`; divisors are no zeros, and both have exact quotients often enough."""
    if dtype in FLOATS:
        # A 0-d tensor may be converted to the other's dtype, so its value is one that every dtype has.
        return gen.normal(shape, dtype, 2.0) if shape else gen.grid(shape, dtype, 0.25, 9) + 0.125
    if which == 1 and dtype != "bool":
        return gen.ints(shape, dtype, 1, 5)
    return gen.ints(shape, dtype)


def call_pair(op, gen, shapes, dtypes, **options):
    """One case of the given shapes and dtypes."""
    first, second = (pair_values(gen, shape, dtype, i) for i, (shape, dtype) in enumerate(zip(shapes, dtypes)))
    op.ok(self=first, **{op.second: second}, **options)


def shapes_and_layouts(op, gen, dtype):
    """Broadcasting, empty and 0-d tensors, every layout."""
    for shapes in SHAPES:
        call_pair(op, gen, shapes, (dtype, dtype))
    for layout in LAYOUTS:
        first, second = (pair_values(gen, (3, 2, 2), dtype, i) for i in (0, 1))
        op.ok(self=layout(first), **{op.second: second})
        op.ok(self=first, **{op.second: layout(second)})
    first, second = (pair_values(gen, (2, 3, 2, 2), dtype, i) for i in (0, 1))
    op.ok(self=channels_last(first), **{op.second: channels_last(second)})
    first, second = (pair_values(gen, (3, 4), dtype, i) for i in (0, 1))
    op.ok(self=transposed(first), **{op.second: gapped(second)})
    op.bad(self=pair_values(gen, (3, 4), dtype, 0), **{op.second: pair_values(gen, (3,), dtype, 1)})


def kind(dtype):
    """The category of a dtype, as promotion sees it."""
    return "float" if dtype in FLOATS else "bool" if dtype == "bool" else "int"


def taken(pairs, kinds):
    """The pairs of which both dtypes are of one of `kinds`."""
    return [p for p in pairs if all(kind(dtype) in kinds for dtype in p)]


def binary(name, kinds, second="other", overload=None):
    """The cases that every op of two tensors has, over the dtype categories it takes."""
    op, gen = Op(name, aten(overload or name)), Gen(name)
    op.second = second
    for dtypes in taken(PAIRS, kinds):
        call_pair(op, gen, ((5,), (5,)), dtypes)
    for dtypes in taken(RANK_PAIRS, kinds):
        call_pair(op, gen, ((4,), ()), dtypes)
        call_pair(op, gen, ((), (4,)), dtypes[::-1])
    if "float" in kinds:
        for dtype in FLOATS:
            call_pair(op, gen, ((3, 4), (3, 4)), (dtype, dtype))
        # Whether 0 or -0 is the larger is not defined.
        unordered = name in ("maximum", "minimum", "fmax", "fmin")
        pairs = [
            (a, b)
            for a, b in zip(LEFT, RIGHT)
            if not (unordered and a == b == 0 and math.copysign(1, a) != math.copysign(1, b))
        ]
        for dtype in ("f32", "f16", "bf16"):
            op.ok(self=tensor([a for a, _ in pairs], dtype), **{second: tensor([b for _, b in pairs], dtype)})
        op.ok(self=special("f32"), **{second: special("f32").flip(0).clone()})
    shapes_and_layouts(op, gen, "f32" if "float" in kinds else "i32")
    return op, gen


NUMBERS = ("float", "int")
ALL = ("float", "int", "bool")


def arithmetic():
    """add, sub, mul, div and the modes of div."""
    add, gen = binary("add", ALL, overload="add.Tensor")
    for alpha, dtype in ((2, "f32"), (-0.5, "f16"), (0, "f32"), (3, "i32"), (-1, "i8"), (2.5, "f64"), (INF, "f32")):
        add.ok(self=gen.values((2, 3), dtype), other=gen.values((3,), dtype), alpha=alpha)
    add.ok(self=special("f32"), other=special("f32"), alpha=0)
    add.ok(self=tensor([100, -100, 127], "i8"), other=tensor([100, -100, 1], "i8"))
    add.ok(self=tensor([200, 255], "u8"), other=tensor([100, 1], "u8"))
    add.ok(self=tensor([2**31 - 1, -(2**31)], "i32"), other=tensor([1, -1], "i32"))
    add.ok(self=tensor([2048.0, 2048.0, 65504.0], "f16"), other=tensor([1.0, 3.0, 16.0], "f16"))
    add.bad(self=gen.ints((3,), "i32"), other=gen.ints((3,), "i32"), alpha=0.5)

    sub, gen = binary("sub", NUMBERS, overload="sub.Tensor")
    for alpha, dtype in ((2, "f32"), (-0.5, "bf16"), (3, "i64"), (2, "u8")):
        sub.ok(self=gen.values((2, 3), dtype), other=gen.values((3,), dtype), alpha=alpha)
    sub.ok(self=tensor([0, 5, 255], "u8"), other=tensor([1, 10, 0], "u8"))
    sub.bad(self=gen.mask((3,)), other=gen.mask((3,)))

    mul, gen = binary("mul", ALL, overload="mul.Tensor")
    mul.ok(self=tensor([100, -100, 16], "i8"), other=tensor([3, 2, 16], "i8"))
    mul.ok(self=tensor([65536, 3], "i32"), other=tensor([65536, -2], "i32"))

    div, gen = binary("div", ALL, overload="div.Tensor")
    div.ok(self=tensor([1, -1, 0, 7], "i32"), other=tensor([0, 0, 0, 2], "i32"))
    modes()


def modes():
    """div with each rounding mode, and floor_divide."""
    op, gen = Op("div.Tensor_mode"), Gen("div.Tensor_mode")
    floor = Op("floor_divide")
    calls = [lambda a, b, mode=mode: op.ok(self=a, other=b, rounding_mode=mode) for mode in ("trunc", "floor")]
    calls.append(lambda a, b: floor.ok(self=a, other=b))
    for call in calls:
        for dtype in FLOATS:
            call(gen.grid((3, 4), dtype, 0.75, 9), gen.ints((4,), dtype, 1, 3) * 0.5)
        for dtype in ("f32", "f16"):
            call(tensor(LEFT, dtype), tensor(RIGHT, dtype))
        call(tensor([7.5, -7.5, 7.5, -7.5, 6.0, -6.0, -0.5, 0.5]), tensor([2.0, 2.0, -2.0, -2.0, 3.0, 3.0, 4.0, -4.0]))
        call(tensor([7, -7, 7, -7, 6, -6, -1], "i32"), tensor([2, 2, -2, -2, 3, 3, 4], "i32"))
        for first, second in [
            ("i64", "i64"),
            ("i8", "i8"),
            ("u8", "u8"),
            ("i32", "f32"),
            ("u8", "i8"),
            ("f16", "bf16"),
        ]:
            call(pair_values(gen, (6,), first, 0), pair_values(gen, (6,), second, 1))
        call(gen.ints((4,), "i32"), tensor(2.5))
        call(gen.ints((4,), "i32"), tensor(-3, "i64"))
        call(gen.grid((3, 1)), tensor([[1.5, -2.0]]))
        call(gen.grid((0, 2)), tensor([1.5, -2.0]))
        call(gen.grid(()), tensor(-1.5))
        for layout in LAYOUTS:
            call(layout(gen.grid((3, 2, 2))), tensor([1.5, -2.0]))
    op.ok(self=gen.normal((5,)), other=gen.normal((5,)), rounding_mode=None)
    op.ok(self=gen.ints((5,)), other=gen.ints((5,), "i64", 1, 5), rounding_mode=None)
    op.bad(self=gen.normal((5,)), other=gen.normal((5,)), rounding_mode="up")
    op.bad(self=gen.normal((5,)), other=gen.normal((4,)), rounding_mode="trunc")
    op.bad(self=gen.ints((2,)), other=tensor([0, 1], "i64"), rounding_mode="floor", note="values")
    floor.bad(self=gen.normal((5,)), other=gen.normal((4,)))
    floor.bad(self=gen.ints((2,)), other=tensor([0, 1], "i64"), note="values")


def float_functions():
    """pow, atan2, logaddexp2, xlogy, copysign, fmod, remainder, maximum, minimum."""
    pow_, gen = binary("pow", NUMBERS, "exponent", "pow.Tensor_Tensor")
    pow_.ok(
        self=tensor(
            [0.0, -0.0, 0.0, -0.0, -0.0, 0.0, NAN, 1.0, -1.0, -1.0, 0.5, 2.0, -2.0, -8.0, INF, -INF, -INF, -INF]
        ),
        exponent=tensor(
            [0.0, 0.0, -1.0, -1.0, -2.0, 2.0, 0.0, NAN, INF, -INF, INF, -INF, 3.0, 1 / 3, -1.0, 3.0, -3.0, 2.5]
        ),
    )
    pow_.ok(self=tensor([2, 3, -2, 0, 5], "i64"), exponent=tensor([10, 3, 3, 0, 1], "i64"))
    pow_.ok(self=tensor([2, 3, -2, 0, 5], "i8"), exponent=tensor([7, 5, 8, 0, 4], "i8"))
    pow_.ok(self=tensor([2, 1, -1, -1, 5], "i64"), exponent=tensor([-1, -3, -1, -2, -2], "i64"))
    pow_.ok(self=gen.uniform((2, 3), "f32", 0.1, 4), exponent=gen.normal((3,), "f32"))
    pow_.ok(self=gen.uniform((2, 3), "f16", 0.1, 4), exponent=gen.normal((3,), "f16"))
    binary("atan2", ALL)
    binary("special_xlog1py", ALL)
    binary("logaddexp", ("float",))
    binary("logaddexp2", ("float",))
    binary("hypot", ("float",))
    binary("xlogy", ALL, overload="xlogy.Tensor")
    binary("copysign", ALL, overload="copysign.Tensor")
    for name in ("fmod", "remainder"):
        op, gen = binary(name, NUMBERS, overload=f"{name}.Tensor")
        for dtype in FLOATS:
            op.ok(self=gen.grid((4, 5), dtype, 0.75, 12), other=gen.ints((5,), dtype, 1, 4) * -0.5)
        op.ok(
            self=tensor([7.5, -7.5, 7.5, -7.5, 6.0, -6.0, 0.0, -0.0]),
            other=tensor([2.0, 2.0, -2.0, -2.0, 3.0, 3.0, 5.0, 5.0]),
        )
        op.ok(self=tensor([7, -7, 7, -7, 6, -6, 0], "i32"), other=tensor([2, 2, -2, -2, 3, 3, -4], "i32"))
        op.ok(self=tensor([1.5, -1.5], "f16"), other=tensor([INF, INF], "f16"))
        op.ok(self=gen.ints((5,), "i32"), other=tensor(2.5))
        op.ok(self=gen.grid((5,), "f16"), other=tensor([3, 2, 1, 5, 4], "i64"))
        op.bad(self=gen.ints((2,)), other=tensor([0, 1], "i64"), note="values")
        op.bad(self=gen.mask((2,)), other=gen.mask((2,)))
    for name in ("maximum", "minimum", "fmax", "fmin"):
        op, gen = binary(name, ALL)
        op.ok(self=gen.grid((12,)), other=gen.grid((12,)))
        op.ok(self=special("f64"), other=special("f64").flip(0).clone())


def comparisons():
    """Tensor with tensor and tensor with scalar."""
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        op, gen = binary(name, ALL, overload=f"{name}.Tensor")
        op.ok(self=gen.grid((12,)), other=gen.grid((12,)))
        op.ok(self=tensor([16777217, 16777216, 3], "i64"), other=tensor([16777216.0, 16777216.0, 3.0]))
        op.ok(self=tensor([1.0, 1.0009765625], "f16"), other=tensor([1.0, 1.0], "bf16"))
        scalar = Op(f"{name}.Scalar")
        for dtype in FLOATS + ("i64", "i8", "u8", "bool"):
            values = gen.grid((2, 5), dtype) if dtype in FLOATS else gen.ints((2, 5), dtype)
            scalar.ok(self=values, other=1)
            scalar.ok(self=values, other=0.5)
        scalar.ok(self=tensor([0.1, 0.2, -0.1], "f16"), other=0.1)
        scalar.ok(self=tensor([0.1, 0.2, -0.1], "f32"), other=0.1)
        for value in (NAN, INF, -0.0, True):
            scalar.ok(self=special("f32"), other=value)
        scalar.ok(self=gen.grid(()), other=0)
        scalar.ok(self=gen.grid((0, 2)), other=0)
        for layout in LAYOUTS:
            scalar.ok(self=layout(gen.grid((3, 2, 2), "bf16")), other=0.5)


def next_after(self, other, of):
    """nextafter among the numbers of a type, in f64."""
    return aten("nextafter")(self.to(DTYPES[of]), other.to(DTYPES[of])).double()


def same_dtype():
    """isclose, heaviside, nextafter, gcd: of two tensors of one dtype."""
    for name, second, dtypes in (
        ("isclose", "other", FLOATS + ("i64", "i32", "u8")),
        ("heaviside", "values", FLOATS + ("i64", "i32", "u8", "bool")),
        ("nextafter", "other", ("f32", "bf16")),
        ("gcd", "other", ("i64", "i32", "i8")),
    ):
        op, gen = Op(name, ref=next_after if name == "nextafter" else None), Gen(name)

        def call(first, other, dtype):
            instead = {"of": dtype} if name == "nextafter" else None
            op.ok(instead=instead, **{"self": first, second: other})

        for dtype in dtypes:
            values = gen.grid if dtype in FLOATS else gen.ints
            call(values((3, 4), dtype), values((4,), dtype), dtype)
            call(values((7,), dtype), values((), dtype), dtype)
            if dtype in ("f32", "f16", "bf16"):
                call(tensor(LEFT, dtype), tensor(RIGHT, dtype), dtype)
                call(special(dtype), special(dtype).flip(0).clone(), dtype)
        first = dtypes[0]
        for layout in LAYOUTS:
            same = gen.grid if first in FLOATS else gen.ints
            call(layout(same((3, 2, 2), first)), same((3, 2, 2), first), first)
        call(gen.ints((0, 3), "i64").to(DTYPES[first]), gen.ints((3,), "i64").to(DTYPES[first]), first)
        op.bad(**{"self": tensor([1, 2], first), second: tensor([1, 2, 3], first)})
    for options in ({"rtol": 0.5}, {"atol": 1.0}, {"rtol": 0.25, "atol": 0.5, "equal_nan": True}):
        OPS["isclose"].ok(self=special("f32"), other=special("f32").flip(0).clone(), **options)
        OPS["isclose"].ok(self=special("f32"), other=special("f32"), **options)
    OPS["isclose"].bad(self=tensor([1.0]), other=tensor([1.0]), rtol=-1.0)
    OPS["isclose"].bad(self=tensor([1.0]), other=tensor([1], "i64"))
    OPS["heaviside"].bad(self=tensor([1.0]), values=tensor([1], "i64"))
    OPS["gcd"].bad(self=tensor([1.0]), other=tensor([1.0]))


def logic():
    """Boolean results and bits."""
    for name in ("logical_and", "logical_or", "logical_xor"):
        op, gen = binary(name, ALL)
        op.ok(self=gen.mask((8,)), other=gen.mask((8,)))
        op.ok(self=gen.grid((12,), n=1), other=gen.grid((12,), n=1))
    for name in ("bitwise_left_shift", "bitwise_right_shift"):
        op, gen = binary(name, ("int",), overload=f"{name}.Tensor")
        for dtype in ("i64", "i32", "i16", "i8", "u8"):
            bits = {"i64": 64, "i32": 32, "i16": 16, "i8": 8, "u8": 8}[dtype]
            shifts = [0, 1, bits - 2, bits - 1, bits, bits + 1, 100, 3]
            op.ok(self=gen.ints((8,), dtype), other=tensor(shifts, dtype))
            if dtype != "u8":
                op.ok(self=gen.ints((3,), dtype), other=tensor([-1, -2, -100], dtype))
        op.bad(self=gen.normal((3,)), other=gen.normal((3,)))
        op.bad(self=gen.mask((3,)), other=gen.mask((3,)))
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        op, gen = binary(name, ("int", "bool"), overload=f"{name}.Tensor")
        op.ok(self=tensor([0, -1, 127, -128, 85], "i8"), other=tensor([-1, 1, -128, 127, 51], "i8"))
        op.bad(self=gen.normal((3,)), other=gen.normal((3,)))
        op.bad(self=gen.ints((3,)), other=gen.normal((3,)))


def scalars():
    """add, sub, mul, div and rsub with a scalar, and both forms of prelu."""
    for name in ("add.Scalar", "sub.Scalar", "mul.Scalar", "div.Scalar", "rsub.Scalar"):
        op, gen = Op(name), Gen(name)
        for dtype in FLOATS:
            op.ok(self=gen.normal((2, 3), dtype), other=1.25)
            op.ok(self=gen.normal((2, 3), dtype), other=-3)
        for dtype in ("i64", "i32", "i8", "u8"):
            op.ok(self=gen.ints((5,), dtype), other=2)
            op.ok(self=gen.ints((5,), dtype), other=1.5)
        for value in (NAN, INF, -INF, 0.0, -0.0, 0, 0.1):
            op.ok(self=special("f32"), other=value)
        op.ok(self=special("f16"), other=0.1)
        op.ok(self=special("bf16"), other=3)
        op.ok(self=gen.normal(()), other=2)
        op.ok(self=gen.normal((2, 0)), other=2)
        for i, layout in enumerate(LAYOUTS):
            op.ok(self=layout(gen.normal((3, 2, 2), FLOATS[i])), other=0.5)
        if name in ("add.Scalar", "sub.Scalar", "rsub.Scalar"):
            op.ok(self=gen.normal((5,)), other=1.5, alpha=2)
            op.ok(self=gen.ints((5,), "i32"), other=3, alpha=-2)
            op.ok(self=gen.normal((5,), "f16"), other=3, alpha=0.5)
        if name in ("add.Scalar", "mul.Scalar", "div.Scalar"):
            op.ok(self=gen.mask((4,)), other=2)
            op.ok(self=gen.mask((4,)), other=True)
            op.ok(self=gen.mask((4,)), other=0.5)
        else:
            op.bad(self=gen.mask((4,)), other=True)
    prelu, gen = Op("_prelu_kernel"), Gen("prelu")
    for dtype in FLOATS:
        prelu.ok(self=gen.normal((2, 3, 4), dtype), weight=gen.normal((1, 3, 1), dtype))
        prelu.ok(self=gen.normal((2, 3), dtype), weight=gen.normal((1,), dtype))
    prelu.ok(self=special("f32"), weight=tensor([0.25]))
    prelu.ok(self=special("f16"), weight=tensor([-1.5], "f16"))
    prelu.ok(self=gen.normal((0, 3)), weight=gen.normal((1, 3)))
    for layout in LAYOUTS:
        prelu.ok(self=layout(gen.normal((2, 3, 2))), weight=gen.normal((1, 3, 1)))
    prelu, gen = Op("prelu"), Gen("prelu")
    for dtype in FLOATS:
        prelu.ok(self=gen.normal((2, 3, 4), dtype), weight=gen.normal((3,), dtype))
        prelu.ok(self=gen.normal((3, 2, 2, 2), dtype), weight=gen.normal((1,), dtype))
        prelu.ok(self=gen.normal((2, 3), dtype), weight=gen.normal((), dtype))
    prelu.ok(self=special("f32"), weight=tensor([0.25]))
    prelu.ok(self=gen.normal(()), weight=gen.normal((1,)))
    prelu.ok(self=gen.normal((0, 3)), weight=gen.normal((3,)))
    for layout in LAYOUTS:
        prelu.ok(self=layout(gen.normal((2, 3, 2))), weight=gen.normal((3,)))
    prelu.bad(self=gen.normal((2, 3, 4)), weight=gen.normal((4,)))
    prelu.bad(self=gen.normal((5, 10)), weight=gen.normal((5,)))
    prelu.bad(self=gen.normal(()), weight=gen.normal((2,)))
    prelu.bad(self=gen.normal((2, 3)), weight=gen.normal((1, 3)))
    prelu.bad(self=gen.normal((2, 3)), weight=gen.normal((3,), "f16"))


def cases():
    """Every case of this file."""
    arithmetic()
    float_functions()
    comparisons()
    same_dtype()
    logic()
    scalars()
