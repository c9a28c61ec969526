"""Ops of language models. They are kgen's own; each is defined by the composition below.

They compute in f32 (f64 for f64) and round once at the end.
"""

import torch
from torch.nn import functional

from ..inputs import FLOATS, INF, LAYOUTS, NAN, Gen, tensor
from ..record import Op


def wide(t):
    """`t` in the type computed in: f32 for f16 and bf16."""
    return t.float() if t.dtype in (torch.float16, torch.bfloat16) else t


def floats_of_one_type(*tensors):
    """Refuses integers and mixed types."""
    if any(not t.dtype.is_floating_point or t.dtype != tensors[0].dtype for t in tensors):
        raise TypeError("expected floating-point tensors of one dtype")


def rope(self, cos, sin, interleaved=False):
    """Rotates the pairs of the last dimension: (x1 cos - x2 sin, x2 cos + x1 sin).

    A pair is element i with i + d/2, or 2i with 2i + 1 when interleaved. self [b, h, s, d], cos and sin [s, d/2].
    """
    floats_of_one_type(self, cos, sin)
    if (
        self.dim() != 4
        or self.shape[3] % 2
        or any(tuple(t.shape) != (self.shape[2], self.shape[3] // 2) for t in (cos, sin))
    ):
        raise ValueError(f"rope of {list(self.shape)} by {list(cos.shape)}, {list(sin.shape)}")
    x, c, s = wide(self), wide(cos), wide(sin)
    if interleaved:
        first, second = x[..., ::2], x[..., 1::2]
        return torch.stack((first * c - second * s, second * c + first * s), -1).flatten(-2).to(self.dtype)
    first, second = x.chunk(2, -1)
    return torch.cat((first * c - second * s, second * c + first * s), -1).to(self.dtype)


def halves(self):
    """The two halves of the last dimension, in the type computed in."""
    floats_of_one_type(self)
    if not self.dim() or self.shape[-1] % 2:
        raise ValueError(f"expected an even last dimension, not {list(self.shape)}")
    return wide(self).chunk(2, -1)


def silu_and_mul(self):
    """silu(x[..., :d]) * x[..., d:]."""
    gate, up = halves(self)
    return (functional.silu(gate) * up).to(self.dtype)


def gelu_and_mul(self, approximate="none"):
    """gelu(x[..., :d]) * x[..., d:]."""
    gate, up = halves(self)
    return (functional.gelu(gate, approximate=approximate) * up).to(self.dtype)


def check_norm(self, residual, weight):
    """Refuses what the norm does not take."""
    floats_of_one_type(self, residual, weight)
    if self.shape != residual.shape or tuple(weight.shape) != tuple(self.shape[-1:]):
        raise ValueError(f"fused_add_rms_norm of {list(self.shape)}, {list(residual.shape)}, {list(weight.shape)}")


def normed(total, weight, eps):
    """rms_norm(total) * weight in the type computed in."""
    return wide(total) * torch.rsqrt(wide(total).square().mean(-1, keepdim=True) + eps) * wide(weight)


def fused_add_rms_norm(self, residual, weight, eps=1e-6):
    """(rms_norm(sum) * weight, sum) with sum = self + residual, rounded to its type before it is normalised."""
    check_norm(self, residual, weight)
    total = self + residual
    return normed(total, weight, eps).to(self.dtype), total


def fused_add_rms_norm_f64(self, residual, weight, eps=1e-6, rounded_to="float64"):
    """The same in f64; the sum is rounded to the type of the tensors, which is given by its name, before it is normalised."""
    total = self + residual
    return normed(total.to(getattr(torch, rounded_to)).double(), weight, eps), total


def topk_softmax(gating, k, renormalize=True):
    """The k largest of softmax(gating) in f32 and their positions (i64); renormalised to the sum 1."""
    floats_of_one_type(gating)
    odds = torch.softmax(gating.to(torch.get_default_dtype()), -1)
    weights, indices = torch.topk(odds, k, -1)
    return (weights / weights.sum(-1, keepdim=True) if renormalize else weights), indices


def rotary():
    """rope."""
    op, gen = Op("rope", rope), Gen("rope")

    def args(shape, dtype="f32", layout=lambda t: t):
        angles = gen.uniform((shape[2], shape[3] // 2), "f64", 0, 6)
        x = layout(gen.normal(shape, dtype))
        return {"self": x, "cos": layout(angles.cos().to(x.dtype)), "sin": layout(angles.sin().to(x.dtype))}

    for interleaved in (False, True):
        for dtype in FLOATS:
            op.ok(**args((1, 2, 3, 4), dtype), interleaved=interleaved)
            op.ok(**args((2, 1, 2, 6), dtype), interleaved=interleaved)
        op.ok(**args((1, 1, 1, 2)), interleaved=interleaved)
        op.ok(**args((0, 1, 2, 4)), interleaved=interleaved)
        for layout in LAYOUTS:
            op.ok(**args((2, 2, 3, 4), layout=layout), interleaved=interleaved)
        special = tensor([[[[NAN, 1.0, INF, 2.0], [-0.0, 0.0, -INF, 1.0]]]])
        op.ok(**{**args((1, 1, 2, 4)), "self": special}, interleaved=interleaved)
    op.bad(**{**args((1, 1, 2, 4)), "cos": gen.normal((2, 4))})
    op.bad(**{**args((1, 1, 2, 4)), "sin": gen.normal((3, 2))})
    op.bad(**{**args((1, 1, 2, 4)), "self": gen.normal((1, 1, 2, 5))})
    op.bad(**{**args((1, 1, 2, 4)), "cos": gen.normal((2, 2), "f16")})


def gated():
    """silu_and_mul and gelu_and_mul."""
    for name, call, options in (
        ("silu_and_mul", silu_and_mul, ({},)),
        ("gelu_and_mul", gelu_and_mul, ({}, {"approximate": "tanh"})),
    ):
        op, gen = Op(name, call), Gen(name)
        for option in options:
            for dtype in FLOATS:
                op.ok(self=gen.normal((3, 8), dtype), **option)
                op.ok(self=gen.normal((2, 2, 4), dtype), **option)
            op.ok(self=gen.normal((2,)), **option)
            op.ok(self=gen.normal((0, 4)), **option)
            op.ok(self=gen.normal((2, 0)), **option)
            op.ok(
                self=tensor(
                    [[NAN, 1.0, 0.0, 1.0], [INF, -INF, 0.0, 0.0], [-0.0, 30.0, 1.0, -1.0], [-20.0, 1.0, INF, NAN]]
                ),
                **option,
            )
            for layout in LAYOUTS:
                op.ok(self=layout(gen.normal((3, 2, 4))), **option)
        op.bad(self=gen.normal((2, 3)))
        op.bad(self=gen.ints((2, 4)))
        op.bad(self=gen.normal(()))
    op.bad(self=gen.normal((2, 4)), approximate="none of these")


def norms():
    """fused_add_rms_norm."""
    op, gen = Op("fused_add_rms_norm", fused_add_rms_norm, fused_add_rms_norm_f64), Gen("fused_add_rms_norm")

    def ok(shape, dtype="f32", layout=lambda t: t, **given):
        args = arguments(shape, dtype, layout)
        op.ok(**{**args, **given}, instead={"rounded_to": str(args["self"].dtype).removeprefix("torch.")})

    def arguments(shape, dtype="f32", layout=lambda t: t):
        return {
            "self": layout(gen.normal(shape, dtype)),
            "residual": layout(gen.normal(shape, dtype)),
            "weight": gen.normal(shape[-1:], dtype),
        }

    for dtype in FLOATS:
        for shape in ((3, 8), (2, 2, 5), (4,)):
            ok(shape, dtype)
        ok((2, 4), dtype, eps=0.1)
        # 256 + 1 and 2048 + 1 are ties of bf16 and f16, and 65504 + 32 is beyond f16.
        sums = tensor([[256.0, 2048.0, 1.0, -257.0]], dtype), tensor([[1.0, 1.0, 0.001, -1.0]], dtype)
        ok((1, 4), dtype, self=sums[0], residual=sums[1])
        ok((1, 2), dtype, self=tensor([[65504.0, 1.0]], dtype), residual=tensor([[32.0, 1.0]], dtype))
    ok((0, 4))
    ok((3, 1))
    ok((2, 4), residual=tensor([[NAN, 1.0, 2.0, 3.0], [INF, 1.0, 2.0, 3.0]]))
    zeros = tensor([[0.0, -0.0]])
    ok((1, 2), self=zeros, residual=-zeros, weight=tensor([1.0, 2.0]))
    for layout in LAYOUTS:
        ok((3, 2, 4), layout=layout)
    op.bad(**{**arguments((2, 4)), "residual": gen.normal((2, 3))})
    op.bad(**{**arguments((2, 4)), "weight": gen.normal((3,))})
    op.bad(**{**arguments((2, 4)), "weight": gen.normal((4,), "f16")})


def routing():
    """topk_softmax."""
    op, gen = Op("topk_softmax", topk_softmax), Gen("topk_softmax")
    for dtype in ("f32", "f16", "bf16"):
        for k in (1, 2, 4):
            for renormalize in (True, False):
                op.ok(gating=gen.distinct((3, 8), dtype), k=k, renormalize=renormalize)
    op.ok(gating=gen.distinct((3, 4)), k=4)
    op.ok(gating=gen.distinct((8,)), k=3)
    op.ok(gating=gen.normal((0, 8)), k=2)
    op.ok(gating=gen.distinct((2, 3, 4)), k=2)
    op.ok(gating=gen.grid((3, 6), n=1), k=2, note="ties")
    for layout in LAYOUTS:
        op.ok(gating=layout(gen.distinct((3, 6))), k=2)
    op.ok(gating=tensor([[-INF, 1.0, 2.0, -INF], [100.0, -100.0, 0.0, 1.0]]), k=2)
    op.bad(gating=gen.normal((3, 4)), k=5)
    op.bad(gating=gen.ints((3, 4)), k=2)


def cases():
    """Every case of this file."""
    rotary()
    gated()
    norms()
    routing()
