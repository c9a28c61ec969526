"""Ops of one tensor and scalars."""

import torch

from ..inputs import DTYPES, FLOATS, INF, LAYOUTS, NAN, Gen, channels_last, special, tensor
from ..record import OPS, Op, aten, precise

# What integers do: "float" gives f32, "same" keeps the dtype, "bool" gives bool, None is refused.
FLOAT, SAME, BOOL = "float", "same", "bool"

# name: (what integers do, whether bool does so too, (lo, hi) of the random values, [options])
TABLE = {
    "relu": (SAME, False, None, []),
    "relu6": (SAME, False, (-4, 10), []),
    "leaky_relu": (None, False, None, [{"negative_slope": 0.2}, {"negative_slope": -0.5}, {"negative_slope": 0}]),
    "gelu": (None, False, None, [{"approximate": "tanh"}]),
    "silu": (None, False, None, []),
    "sigmoid": (FLOAT, True, None, []),
    "tanh": (FLOAT, True, None, []),
    "hardswish": (None, False, (-5, 5), []),
    "hardsigmoid": (None, False, (-5, 5), []),
    "hardtanh": (SAME, False, None, [{"min_val": -2.5, "max_val": 0.5}, {"min_val": 0, "max_val": 6}]),
    "elu": (None, False, None, [{"alpha": 0.5}, {"alpha": 2, "scale": 1.5, "input_scale": 0.25}]),
    "selu": (None, False, None, []),
    "celu": (None, False, None, [{"alpha": 0.5}, {"alpha": 3.0}]),
    "softplus": (None, False, None, [{"beta": 2}, {"beta": 0.5, "threshold": 1.0}]),
    "softshrink": (None, False, None, [{"lambd": 0}, {"lambd": 1.25}]),
    "hardshrink": (None, False, None, [{"lambd": 0}, {"lambd": 1.25}]),
    "mish": (None, False, None, []),
    "log_sigmoid": (None, False, None, []),
    "exp": (FLOAT, True, None, []),
    "exp2": (FLOAT, True, None, []),
    "expm1": (FLOAT, True, None, []),
    "log": (FLOAT, True, (0.01, 20), []),
    "log2": (FLOAT, True, (0.01, 20), []),
    "log10": (FLOAT, True, (0.01, 20), []),
    "log1p": (FLOAT, True, (-0.9, 9), []),
    "sqrt": (FLOAT, True, (0, 9), []),
    "rsqrt": (FLOAT, True, (0.01, 9), []),
    "reciprocal": (FLOAT, True, None, []),
    "square": (SAME, True, None, []),
    "abs": (SAME, False, None, []),
    "neg": (SAME, False, None, []),
    "sgn": (SAME, True, None, []),
    "sign": (SAME, True, None, []),
    "erf": (FLOAT, True, None, []),
    "erfc": (FLOAT, True, None, []),
    "lgamma": (FLOAT, True, (-5.5, 9), []),
    "digamma": (FLOAT, True, (-5.5, 9), []),
    "i0": (FLOAT, True, (-9, 9), []),
    "special_i0e": (FLOAT, True, (-50, 50), []),
    "special_i1": (FLOAT, True, (-9, 9), []),
    "special_i1e": (FLOAT, True, (-50, 50), []),
    "erfinv": (FLOAT, True, (-0.999, 0.999), []),
    "special_ndtr": (FLOAT, True, None, []),
    "special_entr": (FLOAT, True, (0, 3), []),
    "sin": (FLOAT, True, (-7, 7), []),
    "cos": (FLOAT, True, (-7, 7), []),
    "tan": (FLOAT, True, (-7, 7), []),
    "atan": (FLOAT, True, None, []),
    "asin": (FLOAT, True, (-1, 1), []),
    "acos": (FLOAT, True, (-1, 1), []),
    "sinh": (FLOAT, True, None, []),
    "cosh": (FLOAT, True, None, []),
    "asinh": (FLOAT, True, None, []),
    "acosh": (FLOAT, True, (1, 9), []),
    "atanh": (FLOAT, True, (-0.99, 0.99), []),
    "sinc": (FLOAT, True, (-7, 7), []),
    "deg2rad": (FLOAT, True, None, []),
    "rad2deg": (FLOAT, True, None, []),
    "angle": (FLOAT, True, None, []),
    "floor": (SAME, False, None, []),
    "ceil": (SAME, False, None, []),
    "round": (SAME, False, None, []),
    "trunc": (SAME, False, None, []),
    "frac": (None, False, None, []),
    "isnan": (BOOL, True, None, []),
    "isinf": (BOOL, True, None, []),
    "isfinite": (BOOL, True, None, []),
    "isposinf": (BOOL, True, None, []),
    "isneginf": (BOOL, True, None, []),
    "signbit": (BOOL, True, None, []),
    "logical_not": (BOOL, True, None, []),
    "nan_to_num": (
        SAME,
        True,
        None,
        [
            {"nan": 7.5},
            {"posinf": 5.0},
            {"neginf": -5.0},
            {"nan": 1.0, "posinf": INF, "neginf": 0.0},
        ],
    ),
    "logit": (FLOAT, True, (0.02, 0.98), [{"eps": 0.1}, {"eps": 0.0}]),
    "softsign": (None, False, None, []),
    "clone": (SAME, True, None, []),
}


# Computed in f64, whose own kernels are no better than the reference's.
PRECISE = ("digamma", "i0", "special_i0e", "special_i1", "special_i1e")


def normal_distribution(self):
    """special_ndtr by erfc in f64: the kernel's 1 + erf loses all digits for negative x."""
    dtype = self.dtype if self.dtype.is_floating_point else torch.get_default_dtype()
    return (torch.special.erfc(-self.double() / 2**0.5) / 2).to(dtype)


def softsign(self):
    """x / (1 + |x|); f16 and bf16 in f32 and rounded once."""
    if not self.dtype.is_floating_point:
        raise TypeError("softsign takes floating-point tensors")
    x = self.float() if self.dtype in (torch.float16, torch.bfloat16) else self
    return torch.nn.functional.softsign(x).to(self.dtype)


# Ops whose results come from another function than torch's own.
FUNCTIONS = {"softsign": softsign, "special_ndtr": normal_distribution}


def random_values(gen, shape, dtype, bounds):
    """Values of the op's domain."""
    return gen.uniform(shape, dtype, *bounds) if bounds else gen.normal(shape, dtype, 2.0)


def call_special(op, dtype, **options):
    """The op on the special values."""
    values, instead = special(dtype), None
    if op.name in ("hardswish", "sinc"):
        values = values[:-4].clone()  # x * (x + 3) and x * pi overflow
    if op.name == "nan_to_num":
        limit = torch.finfo(values.dtype)
        instead = {"posinf": options.get("posinf", limit.max), "neginf": options.get("neginf", limit.min)}
    op.ok(self=values, instead=instead, **options)


def float_cases(op, gen, bounds, **options):
    """Every float dtype, special values, sizes and layouts."""
    dtypes = ["f32", "f16", "bf16", "f16"] if op.name in PRECISE else FLOATS
    for dtype in dtypes:
        op.ok(self=random_values(gen, (3, 4), dtype, bounds), **options)
    for dtype in ("f32", "f16", "bf16"):
        call_special(op, dtype, **options)
    op.ok(self=random_values(gen, (), "f32", bounds), **options)
    op.ok(self=random_values(gen, (0, 3), "f32", bounds), **options)
    for i, layout in enumerate(LAYOUTS):
        op.ok(self=layout(random_values(gen, (3, 2, 4), dtypes[i], bounds)), **options)
    op.ok(self=channels_last(random_values(gen, (2, 3, 2, 2), "f32", bounds)), **options)


def integer_cases(op, gen, mode, with_bool, **options):
    """Integers and booleans, valid or not."""
    if mode is None:
        op.bad(self=gen.ints((3,), "i64"), **options)
        return
    for dtype in ("i64", "i32", "i8"):
        op.ok(self=gen.ints((5,), dtype), **options)
    if op.name != "hardtanh":
        op.ok(self=gen.ints((5,), "u8"), **options)
    if with_bool:
        op.ok(self=tensor([False, True], "bool"), **options)


def table():
    """The ops whose cases differ only by domain and options."""
    for name, (mode, with_bool, bounds, options) in TABLE.items():
        gen = Gen(name)
        call = FUNCTIONS.get(name) or (precise(name) if name in PRECISE else None)
        op = Op(name, call, once=name == "logit")
        float_cases(op, gen, bounds)
        integer_cases(op, gen, mode, with_bool)
        for option in options:
            op.ok(self=random_values(gen, (3, 4), "f32", bounds), **option)
            op.ok(self=random_values(gen, (5,), "bf16", bounds), **option)
            call_special(op, "f32", **option)


def boundaries():
    """Values at the exact limits of each op's pieces, and refused calls."""
    at = {
        "relu6": [5.999, 6.0, 6.001],
        "hardswish": [-3.0, 3.0, -3.001, 2.999],
        "hardsigmoid": [-3.0, 3.0, 2.5],
        "hardtanh": [-1.0, 1.0, 0.999],
        "softshrink": [0.5, -0.5, 0.501],
        "hardshrink": [0.5, -0.5, 0.501],
        "softplus": [20.0, 20.001, 19.999, -40.0],
        "asin": [1.0, -1.0, 1.001],
        "logit": [0.0, 1.0, -0.1, 1.1, 0.5],
        "round": [0.5, 1.5, 2.5, 3.5, -0.5, -1.5, -2.5, 0.49999997, 8388607.5, 1e10],
        "exp": [88.7, 88.8, -87.4, -103.9, -104.1],
        "erf": [4.0, -4.0, 1e-10],
        "erfc": [4.0, 9.0, 11.0, -4.0],
        "trunc": [2.9, -2.9, -0.9],
        "floor": [-0.1, 0.9, -1e10],
        "ceil": [-0.9, 0.1],
        "frac": [-1.75, 1.75, -0.25],
        "log1p": [-1.0, 1e-10, -1e-10],
        "expm1": [1e-10, -1e-10, 50.0],
        "gelu": [-8.0, 8.0, -5.0],
        "log_sigmoid": [100.0, -100.0, 30.0],
        "mish": [30.0, -30.0, 20.0],
        "tan": [1.5707964, -1.5707964],
        "sigmoid": [-88.0, 88.0, -20.0],
        "silu": [-88.0, 88.0, -20.0],
        "tanh": [9.0, -9.0, 1e-5],
        "reciprocal": [3.0, -0.125],
        "exp2": [127.5, 128.0, -149.0, -150.0],
        "sqrt": [2.0, 1e-20],
    }
    for name, values in at.items():
        OPS[name].ok(self=tensor(values, "f32"))
        OPS[name].ok(self=tensor(values, "f64"))
    OPS["hardtanh"].bad(self=tensor([1], "u8"))
    OPS["hardtanh"].ok(self=tensor([1, 3, 9], "u8"), min_val=2, max_val=6)
    OPS["hardtanh"].ok(self=tensor([1.0, 5.0, -2.0]), min_val=2.0, max_val=1.0)
    OPS["softshrink"].bad(self=tensor([1.0]), lambd=-1.0)
    OPS["celu"].bad(self=tensor([1.0]), alpha=0)
    OPS["gelu"].bad(self=tensor([1.0]), approximate="none of these")
    for name in ("neg", "relu", "floor", "relu6"):
        OPS[name].bad(self=tensor([True, False], "bool"))
    for dtype, lowest in (("i8", -128), ("i32", -(2**31))):
        for name in ("neg", "abs"):
            OPS[name].ok(self=tensor([lowest, -1, 0, 5], dtype))
    OPS["neg"].ok(self=tensor([0, 1, 255], "u8"))
    OPS["square"].ok(self=tensor([-7, 11, 3], "i8"))
    OPS["sqrt"].ok(self=tensor([-4, 0, 9], "i32"))
    OPS["reciprocal"].ok(self=tensor([0, 4, -2], "i64"))
    OPS["log"].ok(self=tensor([0, 1, -1], "i32"))


def clamps():
    """clamp, clamp_min, clamp_max."""
    clamp, lower, upper = Op("clamp"), Op("clamp_min"), Op("clamp_max")
    gen = Gen("clamp")
    for dtype in FLOATS:
        clamp.ok(self=gen.normal((3, 4), dtype), min=-1.0, max=0.5)
        lower.ok(self=gen.normal((3, 4), dtype), min=0.25)
        upper.ok(self=gen.normal((3, 4), dtype), max=0.25)
    for dtype in ("f32", "f16"):
        clamp.ok(self=special(dtype), min=-1.5, max=2.5)
        lower.ok(self=special(dtype), min=0.0)
        upper.ok(self=special(dtype), max=0.0)
    clamp.ok(self=special("f32"), min=NAN, max=1.0)
    clamp.ok(self=special("f32"), min=-1.0, max=NAN)
    clamp.ok(self=special("f32"), min=-INF, max=INF)
    lower.ok(self=special("f32"), min=NAN)
    upper.ok(self=special("f32"), max=NAN)
    lower.ok(self=special("bf16"), min=-INF)
    upper.ok(self=special("bf16"), max=INF)
    clamp.ok(self=gen.normal((6,)), min=0.5)
    clamp.ok(self=gen.normal((6,)), max=0.5)
    clamp.ok(self=gen.normal((6,)), min=2.0, max=-1.0)
    clamp.bad(self=gen.normal((6,)))
    for op, options in ((clamp, {"min": -2, "max": 3}), (lower, {"min": 1}), (upper, {"max": 1})):
        for dtype in ("i64", "i8"):
            op.ok(self=gen.ints((6,), dtype), **options)
        op.ok(self=gen.ints((6,), "i32"), **{name: v + 0.5 for name, v in options.items()})
        op.ok(self=gen.normal((5,)), **options)
        op.ok(self=gen.normal(()), **options)
        op.ok(self=gen.normal((2, 0)), **options)
        for i, layout in enumerate(LAYOUTS):
            op.ok(self=layout(gen.normal((3, 2, 4), FLOATS[i])), **options)
    clamp.ok(self=channels_last(gen.normal((2, 3, 2, 2))), min=0, max=1)


def tensor_limits():
    """clamp with tensors."""
    op, gen = Op("clamp.Tensor"), Gen("clamp.Tensor")
    for dtype in FLOATS + ("i64", "i8"):
        op.ok(self=gen.values((3, 4), dtype), min=gen.values((4,), dtype), max=gen.values((3, 1), dtype))
        op.ok(self=gen.values((3, 4), dtype), min=gen.values((4,), dtype))
        op.ok(self=gen.values((3, 4), dtype), max=gen.values((), dtype))
    op.ok(self=special("f32"), min=special("f32").flip(0).clone(), max=tensor(1.0))
    op.ok(self=gen.ints((4,), "i32"), min=gen.normal((4,)), max=gen.ints((4,), "i64"))
    op.ok(self=gen.normal((0, 2)), min=gen.normal((2,)))
    for layout in LAYOUTS:
        op.ok(self=layout(gen.normal((3, 2, 2))), min=gen.normal((2,)), max=layout(gen.normal((3, 2, 2))))
    op.bad(self=gen.normal((3,)))
    op.bad(self=gen.normal((3,)), min=gen.normal((2,)))


def threshold():
    """threshold(x) = x where x > threshold, else value."""
    op, gen = Op("threshold"), Gen("threshold")
    float_cases(op, gen, None, threshold=0.5, value=-7.0)
    op.ok(self=tensor([0.0, -0.0, 1.0, NAN]), threshold=0.0, value=3.0)
    op.ok(self=tensor([0.0, -0.0, 1.0, NAN]), threshold=NAN, value=3.0)
    op.ok(self=gen.normal((6,), "f16"), threshold=0, value=20)
    op.ok(self=gen.ints((6,), "i64"), threshold=2, value=-1)
    op.ok(self=gen.ints((6,), "u8"), threshold=3, value=0)


def glu():
    """glu: the second half gates the first."""
    op, gen = Op("glu", once=True), Gen("glu")
    for dtype in FLOATS:
        for dim in (-1, 0, 1):
            op.ok(self=gen.normal((2, 4, 6), dtype, 2.0), dim=dim)
    op.ok(self=gen.normal((6,)))
    op.ok(self=gen.normal((0, 4)))
    op.ok(self=tensor([1.0, -1.0, NAN, 2.0, INF, 3.0, NAN, 90.0, 1.0, -110.0, 1.0, INF]))
    for layout in LAYOUTS:
        op.ok(self=layout(gen.normal((3, 2, 4))))
    op.bad(self=gen.normal((3,)))
    op.bad(self=gen.normal(()))
    op.bad(self=gen.ints((4,), "i64"))


def bitwise_not():
    """Integers and booleans only."""
    op, gen = Op("bitwise_not"), Gen("bitwise_not")
    for dtype in ("i64", "i32", "i16", "i8", "u8", "bool"):
        op.ok(self=gen.ints((2, 5), dtype))
    op.ok(self=gen.ints((), "i32"))
    op.ok(self=gen.ints((0,), "i32"))
    for layout in LAYOUTS:
        op.ok(self=layout(gen.ints((2, 3, 2), "i32")))
    op.bad(self=gen.normal((3,)))


def pow_scalar():
    """pow with a scalar exponent."""
    op, gen = Op("pow.Tensor_Scalar"), Gen("pow.Tensor_Scalar")
    for exponent in (0, 1, 2, 3, -1, -2, 0.5, -0.5, 2.5, 1.0 / 3.0, 0.0, 2.0):
        op.ok(self=gen.uniform((2, 3), "f32", 0.1, 3), exponent=exponent)
        op.ok(self=special("f32"), exponent=exponent)
    for exponent in (INF, -INF, NAN):
        op.ok(self=special("f32"), exponent=exponent)
    for dtype in ("f16", "bf16", "f64"):
        op.ok(self=gen.uniform((2, 3), dtype, 0.1, 3), exponent=3)
        op.ok(self=gen.uniform((2, 3), dtype, 0.1, 3), exponent=1.7)
        op.ok(self=special(dtype), exponent=2)
    for dtype in ("i64", "i32", "i8", "u8"):
        op.ok(self=gen.ints((5,), dtype), exponent=2)
        op.ok(self=gen.ints((5,), dtype, 0, 9), exponent=0.5)
    op.ok(self=tensor([0, -2, 3], "i32"), exponent=0)
    op.ok(self=tensor([2, 3, 7], "i8"), exponent=5)
    op.ok(self=tensor([True, False], "bool"), exponent=3)
    op.bad(self=gen.ints((3,), "i64"), exponent=-1)
    op.ok(self=gen.uniform((), "f32", 0.1, 3), exponent=2)
    op.ok(self=gen.normal((0, 2)), exponent=2)
    for layout in LAYOUTS:
        op.ok(self=layout(gen.normal((3, 2, 2))), exponent=3)


def copies():
    """_to_copy and copy: the dtype conversions."""
    op, gen = Op("to_copy", aten("_to_copy")), Gen("to_copy")
    names = ("f64", "f32", "f16", "bf16", "i64", "i32", "i8", "u8", "bool")
    for source in names:
        for target in names:
            values = (
                gen.normal((5,), source, 3.0)
                if source in FLOATS
                else gen.ints((5,), source, *((0, 9) if target == "u8" and source != "bool" else (None, None)))
            )
            if source in FLOATS and target == "u8":
                values = values.abs()
            op.ok(self=values, dtype=DTYPES[target])
    for target in ("f16", "bf16", "f64", "bool"):
        op.ok(self=special("f32"), dtype=DTYPES[target])
    for target in ("f8e4m3", "f8e5m2"):
        wide = [
            0.0,
            -0.0,
            NAN,
            0.001,
            0.0019,
            0.017,
            0.0176,
            1.0625,
            1.1875,
            1.125,
            -1.375,
            17.0,
            19.0,
            300.0,
            440.0,
            -440.0,
        ]
        for source in ("f32", "f16", "bf16"):
            op.ok(self=tensor(wide, source), dtype=DTYPES[target])
            op.ok(self=tensor(wide, target), dtype=DTYPES[source])
    ties = [1.00048828125, 1.00146484375, 65519.0, 65520.0, 2.98e-8, 2.9802322387695312e-08, 8.94e-8, 2049.0, 2051.0]
    op.ok(self=tensor(ties, "f32"), dtype=DTYPES["f16"])
    op.ok(self=tensor(ties, "f64"), dtype=DTYPES["f16"])
    op.ok(self=tensor([1.00390625, 1.01171875, 3.3961775e38, 257.0, 259.0], "f32"), dtype=DTYPES["bf16"])
    op.ok(self=tensor([16777217, 16777219, -16777217], "i64"), dtype=DTYPES["f32"])
    op.ok(self=tensor([300, -129, 255, 128], "i32"), dtype=DTYPES["i8"])
    op.ok(self=tensor([300, -1, 255, 256], "i64"), dtype=DTYPES["u8"])
    op.ok(self=gen.normal((2, 3)))
    op.ok(self=gen.normal(()), dtype=DTYPES["f16"])
    op.ok(self=gen.normal((0, 2)), dtype=DTYPES["f16"])
    copy = Op("copy")
    for source, target in (
        ("f32", "f32"),
        ("f32", "f16"),
        ("bf16", "f32"),
        ("i64", "f32"),
        ("f32", "i32"),
        ("bool", "f32"),
    ):
        copy.ok(self=gen.values((2, 3), target), src=gen.values((2, 3), source))
        copy.ok(self=gen.values((2, 3), target), src=gen.values((3,), source))
        copy.ok(self=gen.values((2, 3), target), src=gen.values((), source))
    copy.ok(self=special("f32"), src=special("f32"), non_blocking=True)
    copy.ok(self=gen.normal((0, 3)), src=gen.normal((3,)))
    copy.bad(self=gen.normal((3,)), src=gen.normal((2, 3)))
    copy.bad(self=gen.normal((2, 3)), src=gen.normal((2,)))
    for layout in LAYOUTS:
        op.ok(self=layout(gen.normal((3, 2, 2))), dtype=DTYPES["bf16"])
        copy.ok(self=gen.normal((3, 2, 2)), src=layout(gen.normal((3, 2, 2))))


def cases():
    """Every case of this file."""
    table()
    boundaries()
    clamps()
    tensor_limits()
    threshold()
    glu()
    bitwise_not()
    pow_scalar()
    copies()
