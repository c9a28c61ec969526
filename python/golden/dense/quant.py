"""fp8: quantisation and the scaled product. These are kgen's own forms; their definitions are below.

The f64 result of a quantisation is the value before the final rounding, clamped to the finite range of the fp8 type.
"""

import torch

from ..inputs import DTYPES, INF, LAYOUTS, NAN, Gen, tensor
from ..record import Op

FP8 = {torch.float8_e4m3fn: "f8e4m3", torch.float8_e5m2: "f8e5m2"}


def computed(t):
    """`t` in the type that the ops compute in: f64 in the f64 run, else f32."""
    return t.to(torch.get_default_dtype())


def largest(dtype):
    """The largest finite value of an fp8 dtype."""
    return torch.finfo(dtype).max


def quotient(self, scale, limit):
    """self / scale clamped to +-limit; NaN stays."""
    return torch.clamp(computed(self) / computed(scale), -limit, limit)


def quantize_fp8(self, scale, dtype=torch.float8_e4m3fn):
    """sat_cast(self / scale), the quotient in f32."""
    if not self.dtype.is_floating_point or dtype not in FP8:
        raise TypeError(f"quantize_fp8 takes floats to fp8, not {self.dtype} to {dtype}")
    if scale.dim() and tuple(scale.shape) not in ((1,), (self.shape[0], 1)):
        raise ValueError(f"scale is [], [1] or [rows, 1], not {list(scale.shape)}")
    return quotient(self, scale, largest(dtype)).to(dtype)


def quantize_fp8_f64(self, scale, limit, dtype=None):
    """The same before the cast to the fp8 type, whose largest value is `limit`."""
    return quotient(self, scale, limit)


def row_scale(self, limit):
    """max(amax(|row|), 1e-12) / limit, [..., 1]."""
    return computed(self).abs().amax(-1, keepdim=True).clamp_min(1e-12) / limit


def dynamic_quantize_fp8(self, dtype=torch.float8_e4m3fn):
    """Per row: (sat_cast(self / scale), scale), with scale = max(amax(|row|), 1e-12) / the type's largest value."""
    if not self.dtype.is_floating_point or not self.dim():
        raise TypeError("dynamic_quantize_fp8 takes rows of floats")
    scale = row_scale(self, largest(dtype))
    return quotient(self, scale, largest(dtype)).to(dtype), scale


def dynamic_quantize_fp8_f64(self, limit, dtype=None):
    """The same before the cast."""
    scale = row_scale(self, limit)
    return quotient(self, scale, limit), scale


def quantisation():
    """quantize_fp8 and dynamic_quantize_fp8."""
    fixed = Op("quantize_fp8", quantize_fp8, quantize_fp8_f64)
    dynamic = Op("dynamic_quantize_fp8", dynamic_quantize_fp8, dynamic_quantize_fp8_f64)
    gen = Gen("quantize_fp8")

    def both(x, scale, **args):
        limit = {"limit": largest(args.get("dtype", torch.float8_e4m3fn))}
        fixed.ok(self=x, scale=scale, instead=limit, **args)
        dynamic.ok(self=x, instead=limit, **args)

    special = [[NAN, 1.0, 2.0], [INF, -INF, 1.0], [-0.0, 0.0, 0.0], [500.0, -500.0, 464.0]]
    ties = [[1.0625, 1.1875, 1.125, 1.375, 17.0, 19.0, 0.0009765625, 0.0029296875, 448.0]]
    for dtype in ("f32", "f16", "bf16"):
        for target in ({}, {"dtype": DTYPES["f8e4m3"]}, {"dtype": DTYPES["f8e5m2"]}):
            both(gen.normal((3, 8), dtype, 100), tensor(0.5), **target)
            both(gen.normal((3, 8), dtype, 1), gen.uniform((3, 1), "f32", 0.01, 2), **target)
            both(tensor(special, dtype), tensor(1.0), **target)
            both(tensor(ties, dtype), tensor(1.0), **target)
    both(gen.normal((0, 4)), tensor(1.0))
    for layout in LAYOUTS:
        both(layout(gen.normal((3, 4))), tensor(0.25))
    both(gen.normal((2, 4), "f32", 1e-3), tensor(1e-6))
    both(gen.normal((2, 4), "f32", 1e5), tensor(1e-6), dtype=DTYPES["f8e5m2"])
    fixed.ok(self=gen.normal((2, 4)), scale=tensor([0.5]), instead={"limit": largest(torch.float8_e4m3fn)})
    fixed.bad(self=gen.ints((2, 3)), scale=tensor(1.0))
    fixed.bad(self=gen.normal((2, 3)), scale=tensor([1.0, 1.0, 1.0]))
    fixed.bad(self=gen.normal((2, 3)), scale=tensor(1.0), dtype=DTYPES["i8"])
    dynamic.bad(self=gen.ints((2, 3)))
    dynamic.bad(self=gen.normal(()))


def check_scaled_mm(self, mat2, scale_a, scale_b, bias):
    """Refuses what scaled_mm does not take."""
    if self.dtype not in FP8 or mat2.dtype not in FP8:
        raise TypeError(f"scaled_mm takes fp8 matrices, not {self.dtype} and {mat2.dtype}")
    if self.dim() != 2 or mat2.dim() != 2 or self.shape[1] != mat2.shape[0]:
        raise ValueError(f"scaled_mm of {list(self.shape)} and {list(mat2.shape)}")
    if scale_a.dim() and tuple(scale_a.shape) not in ((1,), (self.shape[0], 1)):
        raise ValueError(f"scale_a is [], [1] or [m, 1], not {list(scale_a.shape)}")
    if scale_b.dim() and tuple(scale_b.shape) not in ((1,), (1, mat2.shape[1])):
        raise ValueError(f"scale_b is [], [1] or [1, n], not {list(scale_b.shape)}")
    if bias is not None and tuple(bias.shape) != (mat2.shape[1],):
        raise ValueError(f"bias is [n], not {list(bias.shape)}")


def product(self, mat2, scale_a, scale_b, bias):
    """The scaled product in the computing type."""
    out = computed(self) @ computed(mat2) * computed(scale_a) * computed(scale_b)
    return out if bias is None else out + computed(bias)


def scaled_mm(self, mat2, scale_a, scale_b, bias=None, out_dtype=None):
    """(self @ mat2) * scale_a * scale_b + bias in f32, rounded to out_dtype, by default that of self; fp8 saturates."""
    check_scaled_mm(self, mat2, scale_a, scale_b, bias)
    out, dtype = product(self, mat2, scale_a, scale_b, bias), out_dtype or self.dtype
    return (torch.clamp(out, -largest(dtype), largest(dtype)) if dtype in FP8 else out).to(dtype)


def scaled_mm_f64(self, mat2, scale_a, scale_b, bias=None, out_dtype=None, limit=None):
    """The same before the last rounding."""
    out = product(self, mat2, scale_a, scale_b, bias)
    return out if limit is None else torch.clamp(out, -limit, limit)


def scaled_products():
    """scaled_mm."""
    op, gen = Op("scaled_mm", scaled_mm, scaled_mm_f64), Gen("scaled_mm")

    def matrices(m=3, n=4, k=8, first="f8e4m3", second="f8e4m3"):
        return {"self": gen.normal((m, k), first), "mat2": gen.normal((n, k), second).t()}

    one = {"scale_a": tensor(0.5), "scale_b": tensor(2.0)}
    for out in ("f32", "f16", "bf16"):
        out_dtype = {"out_dtype": DTYPES[out]}
        for second in ("f8e4m3", "f8e5m2"):
            op.ok(**matrices(second=second), **one, **out_dtype)
            rows = {"scale_a": gen.uniform((3, 1)), "scale_b": gen.uniform((1, 4))}
            op.ok(**matrices(first="f8e5m2" if second == "f8e4m3" else "f8e4m3"), **rows, **out_dtype)
            op.ok(**matrices(), **rows, bias=gen.normal((4,), out), **out_dtype)
        op.ok(**matrices(k=48), scale_a=gen.uniform((3, 1)), scale_b=tensor(0.75), **out_dtype)
        op.ok(**matrices(m=1, n=1, k=1), scale_a=tensor(1.0), scale_b=gen.uniform((1, 1)), **out_dtype)
    for first in FP8.values():
        op.ok(**matrices(first=first), **one, instead={"limit": largest(DTYPES[first])})
        op.ok(
            **matrices(first=first),
            scale_a=tensor(300.0),
            scale_b=tensor(400.0),
            instead={"limit": largest(DTYPES[first])},
        )
    f32 = {"out_dtype": DTYPES["f32"]}
    for m, n, k in ((0, 4, 3), (2, 0, 3), (2, 3, 0)):
        op.ok(**matrices(m, n, k), **one, **f32)
    for layout in LAYOUTS:
        args = matrices()
        op.ok(**{**args, "self": layout(args["self"].float()).to(DTYPES["f8e4m3"])}, **one, **f32)
    args = matrices()
    args["self"][0, 0] = NAN
    op.ok(**args, **one, **f32)
    args = matrices(second="f8e5m2")
    args["mat2"][0, 0] = INF
    op.ok(**args, **one, **f32)
    op.bad(**{**matrices(), "self": gen.normal((3, 8))}, **one, **f32)
    op.bad(**{**matrices(), "self": gen.normal((3, 7), "f8e4m3")}, **one, **f32)
    op.bad(**matrices(), scale_a=tensor([1.0, 1.0, 1.0]), scale_b=tensor(1.0), **f32)
    op.bad(**matrices(), **one, bias=gen.normal((3,)), **f32)


def cases():
    """Every case of this file."""
    quantisation()
    scaled_products()
