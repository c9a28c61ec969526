"""Convolutions of 1 to 3 spatial dimensions, and transposed ones."""

from ..inputs import FLOATS, INF, LAYOUTS, NAN, Gen, channels_last
from ..record import Op, aten

# Per number of spatial dimensions: input, kernel and the tuples of one asymmetric option.
INPUT = {1: (6,), 2: (4, 3), 3: (3, 2, 3)}
KERNEL = {1: (3,), 2: (3, 2), 3: (2, 2, 1)}
# How many channels there are, of the input and of the output.
CHANNELS = {1: 4, 2: 4, 3: 2}
UNEVEN = {1: [2], 2: [2, 1], 3: [1, 2, 1]}


def options(n, transposed):
    """The option sets that every convolution is tried with."""
    ones, twos, uneven = [1] * n, [2] * n, UNEVEN[n]
    sets = [
        {},
        {"stride": twos},
        {"padding": ones},
        {"dilation": twos, "padding": ones if transposed else twos},
        {"stride": uneven, "padding": ones},
        {"groups": 2},
        {"groups": 2, "stride": twos, "padding": ones, "dilation": uneven},
        {"stride": [2], "padding": [1]},
    ]
    if transposed:
        sets += [
            {"stride": twos, "output_padding": ones},
            {"stride": twos, "padding": ones, "output_padding": uneven_less(uneven)},
            {"dilation": twos, "output_padding": ones},
        ]
    return sets


def uneven_less(uneven):
    """Output padding below the stride of 2, not equal in every dimension."""
    return [v - 1 for v in uneven]


def operands(gen, n, dtype, transposed, groups, bias):
    """Input, and a weight that gives as many channels."""
    c = CHANNELS[n]
    weight_shape = (c, c // groups, *KERNEL[n])
    args = {
        "input": gen.normal((2 if n == 1 else 1, c, *INPUT[n]), dtype),
        "weight": gen.normal(weight_shape, dtype, 0.5),
    }
    if bias:
        args["bias"] = gen.normal((c,), dtype)
    return args


def named():
    """conv1d to conv3d and conv_transpose1d to conv_transpose3d."""
    for transposed in (False, True):
        for n in (1, 2, 3):
            name = f"conv_transpose{n}d" if transposed else f"conv{n}d"
            op = Op(name, aten(f"{name}.input" if transposed and n > 1 else name), once=True)
            gen = Gen(name)
            for i, option in enumerate(options(n, transposed)):
                groups = option.get("groups", 1)
                op.ok(**operands(gen, n, "f32", transposed, groups, i % 2 == 0), **option)
                op.ok(**operands(gen, n, FLOATS[i % 4], transposed, groups, i % 2 == 1), **option)
            edges(op, gen, n, transposed)


def edges(op, gen, n, transposed):
    """Unbatched and empty inputs, depthwise, layouts, special values, refused calls."""
    args = operands(gen, n, "f32", transposed, 1, True)
    op.ok(**{**args, "input": args["input"][0].clone()})
    op.ok(**{**args, "input": args["input"][:0].clone()})
    c = CHANNELS[n]
    op.ok(input=args["input"], weight=gen.normal((c, 1, *KERNEL[n])), groups=c)
    op.ok(input=args["input"], weight=gen.normal((c, 1, *[1] * n) if transposed else (1, c, *[1] * n)))
    for layout in LAYOUTS if n < 3 else LAYOUTS[:2]:
        op.ok(input=layout(args["input"]), weight=layout(args["weight"]), bias=args["bias"])
    if n == 2:
        op.ok(input=channels_last(args["input"]), weight=channels_last(args["weight"]), padding=[1, 1])
    for value in (NAN, INF):
        spoiled = args["input"].clone()
        spoiled.view(-1)[5] = value
        op.ok(**{**args, "input": spoiled}, padding=[1] * n)
    op.bad(**{**args, "weight": gen.normal((3, 3, *KERNEL[n]))})
    op.bad(**{**args, "bias": gen.normal((3,))})
    op.bad(**args, padding=[-1] * n)
    op.bad(**args, stride=[0] * n)
    op.bad(**args, groups=3)
    op.bad(**{**args, "weight": args["weight"][0].clone()})
    op.bad(**{**args, "weight": args["weight"].double()})
    if not transposed:
        op.bad(**{**args, "weight": gen.normal((c, c, *[9] * n))})
    else:
        op.bad(**args, stride=[2] * n, output_padding=[2] * n)


def convolution():
    """The general op, all of its arguments given."""
    op, gen = Op("convolution", once=True), Gen("convolution")
    for transposed in (False, True):
        for n in (1, 2, 3):
            for i, option in enumerate(options(n, transposed)):
                groups = option.get("groups", 1)
                full = {
                    "bias": None,
                    "stride": [1] * n,
                    "padding": [0] * n,
                    "dilation": [1] * n,
                    "transposed": transposed,
                    "output_padding": [0] * n,
                    "groups": 1,
                }
                dtype = FLOATS[(i + n) % 4]
                op.ok(**{**full, **operands(gen, n, dtype, transposed, groups, i % 2 == 0), **option})
    base = {
        "bias": None,
        "stride": [1, 1],
        "padding": [0, 0],
        "dilation": [1, 1],
        "transposed": False,
        "output_padding": [0, 0],
        "groups": 1,
    }
    args = operands(gen, 2, "f32", False, 1, True)
    for layout in (*LAYOUTS, channels_last):
        op.ok(**{**base, **args, "input": layout(args["input"])})
    op.bad(**{**base, **args, "padding": [-1, 0]})
    op.bad(**{**base, **args, "groups": 3})
    op.bad(**{**base, **args, "weight": gen.normal((4, 3, 2, 2))})


def cases():
    """Every case of this file."""
    named()
    convolution()
