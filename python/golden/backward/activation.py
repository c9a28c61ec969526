"""Gradients of activations."""

import itertools

from ..inputs import DTYPES, FLOATS, LAYOUTS, Gen, channels_last, special, tensor
from ..record import Op

# The f32 nearest to 0.7: above it in f16, below it in bf16.
F32_LIMIT = 0.699999988079071

# name: (name of the second tensor, (lo, hi) of its values, options)
TABLE = {
    "threshold_backward": ("self", None, [{"threshold": 0}, {"threshold": 0.5}, {"threshold": -1.5}]),
    "hardtanh_backward": ("self", None, [
        {"min_val": -1, "max_val": 1}, {"min_val": 0, "max_val": 6}, {"min_val": -F32_LIMIT, "max_val": F32_LIMIT},
    ]),
    "sigmoid_backward": ("output", (0, 1), [{}]),
    "tanh_backward": ("output", (-1, 1), [{}]),
    "silu_backward": ("self", None, [{}]),
    "gelu_backward": ("self", None, [{}, {"approximate": "tanh"}]),
    "mish_backward": ("self", None, [{}]),
    "leaky_relu_backward": (
        "self",
        None,
        [{"negative_slope": s, "self_is_result": r} for s, r in ((0.2, False), (0.5, True), (-0.5, False))],
    ),
    "elu_backward": (
        "self_or_result",
        None,
        [
            {"alpha": 1, "scale": 1, "input_scale": 1, "is_result": False},
            {"alpha": 0.5, "scale": 1.5, "input_scale": 1, "is_result": True},
            {"alpha": 2, "scale": 1.5, "input_scale": 0.25, "is_result": False},
        ],
    ),
    "hardswish_backward": ("self", (-5, 5), [{}]),
    "hardsigmoid_backward": ("self", (-5, 5), [{}]),
    "softshrink_backward": ("self", None, [{"lambd": 0.5}, {"lambd": 1}]),
    "logit_backward": ("self", (0, 1), [{}, {"eps": 0.1}]),
    "softplus_backward": ("self", None, [{"beta": 1, "threshold": 20}, {"beta": 2, "threshold": 1}]),
}

# What these give for NaN differs between the CPU's kernels, which take several elements at a time, and those for one.
NO_NAN = {"hardtanh_backward", "elu_backward", "hardswish_backward", "softshrink_backward"}

# Values at which the formula changes.
EDGES = [-3.0, 3.0, -1.0, 1.0, 0.0, -0.0, 0.5, 0.7, -0.7, -1.5, 2.999, -2.999, 6.0, 20.0, 10.0, -40.0]


def cases():
    """Every case of this file."""
    for name, (other, bounds, options) in TABLE.items():
        op, gen = Op(name, once=True), Gen(name)

        def values(shape, dtype="f32"):
            return gen.uniform(shape, dtype, *bounds) if bounds else gen.normal(shape, dtype, 2.0)

        def call(grad, second, **options):
            op.ok(**{"grad_output": grad, other: second, **options})

        for option in options:
            for dtype in FLOATS:
                call(gen.normal((3, 4), dtype), values((3, 4), dtype), **option)
            # The CPU's kernels give the result for -0 either sign.
            edges = [x for x in EDGES if name != "logit_backward" or str(x) != "-0.0"]
            call(gen.normal((len(edges),)), tensor(edges), **option)
            # Powers of the largest and smallest numbers overflow in one type and not in another.
            specials = special("f32")[:-4].clone()
            inputs = specials[1:].clone() if name in NO_NAN else specials
            # So does the sign of what this gives for -0.
            inputs = specials[5:].clone() if name == "logit_backward" else inputs
            call(gen.normal(tuple(inputs.shape)), inputs, **option)
            call(specials, values(tuple(specials.shape)), **option)
        option = options[0]
        for shape in ((), (1,), (0, 3)):
            call(gen.normal(shape), values(shape), **option)
        for dtype, (layout, next_layout) in zip(FLOATS, itertools.pairwise((*LAYOUTS, LAYOUTS[0]))):
            call(layout(gen.normal((3, 2, 4), dtype)), next_layout(values((3, 2, 4), dtype)), **option)
        call(channels_last(gen.normal((2, 3, 2, 2))), channels_last(values((2, 3, 2, 2))), **option)
        if name == "hardtanh_backward":
            for dtype in ("f16", "bf16"):
                call(gen.normal((2,), dtype), tensor([0.7, -0.7]).to(DTYPES[dtype]), **options[-1])
        if name == "threshold_backward":
            for dtype in ("i64", "i32", "i8"):
                call(gen.ints((7,), dtype), gen.ints((7,), dtype), threshold=2)
        if name == "gelu_backward":
            op.bad(grad_output=gen.normal((3,)), self=gen.normal((3,)), approximate="erf")
        if name == "leaky_relu_backward":
            op.bad(grad_output=gen.normal((3,)), self=gen.normal((3,)), negative_slope=-0.5, self_is_result=True)
