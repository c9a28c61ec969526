"""Activations of vLLM (csrc/activation_kernels.cu)."""

import math

import torch
from torch.nn import functional

from ..inputs import FLOATS, INF, LAYOUTS, NAN, Gen, tensor
from ..record import Op
from .common import one_float_type, require, wide


def gelu_new(self):
    """0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))."""
    one_float_type(self)
    x = wide(self)
    return (0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))).to(self.dtype)


def gelu_fast(self):
    """0.5 x (1 + tanh(x 0.7978845608028654 (1 + 0.044715 x^2)))."""
    one_float_type(self)
    x = wide(self)
    return (0.5 * x * (1 + torch.tanh(x * 0.7978845608028654 * (1 + 0.044715 * x * x)))).to(self.dtype)


def gelu_quick(self):
    """x sigmoid(1.702 x)."""
    one_float_type(self)
    x = wide(self)
    return (x * torch.sigmoid(1.702 * x)).to(self.dtype)


def halves(self):
    """The two halves of the last dimension, in the type computed in."""
    one_float_type(self)
    require(self.dim() and self.shape[-1] % 2 == 0, "an even last dimension")
    return wide(self).chunk(2, -1)


def gelu_tanh_and_mul(self):
    """gelu(x[..., :d], tanh) * x[..., d:]."""
    gate, up = halves(self)
    return (functional.gelu(gate, approximate="tanh") * up).to(self.dtype)


def mul_and_silu(self):
    """x[..., :d] * silu(x[..., d:])."""
    up, gate = halves(self)
    return (up * functional.silu(gate)).to(self.dtype)


def fatrelu_and_mul(self, threshold=0.0):
    """x[..., :d], 0 where it is not above the threshold, * x[..., d:]; the threshold in f32."""
    gate, up = halves(self)
    limit = torch.tensor(threshold, dtype=torch.float32).item()
    return (torch.where(gate > limit, gate, torch.zeros_like(gate)) * up).to(self.dtype)


def plain():
    """gelu_new, gelu_fast and gelu_quick."""
    for call in (gelu_new, gelu_fast, gelu_quick):
        op, gen = Op(call.__name__, call), Gen(call.__name__)
        for dtype in FLOATS:
            op.ok(self=gen.normal((3, 5), dtype))
            op.ok(self=gen.normal((9,), dtype, 5))
        # The formula's products of infinities are NaN for gelu's -Inf; large finite values stay apart.
        op.ok(self=tensor([0.0, -0.0, 1.0, -1.0, 20.0, -20.0, 6.0, -6.0, 1e-3, -1e-3, NAN, INF, -30.0]))
        op.ok(self=gen.normal((0, 4)))
        op.ok(self=gen.normal(()))
        for layout in LAYOUTS:
            op.ok(self=layout(gen.normal((3, 4))))
        op.bad(self=gen.ints((2, 3)))


def gated():
    """The gated activations."""
    for call, options in (
        (gelu_tanh_and_mul, ({},)),
        (mul_and_silu, ({},)),
        (fatrelu_and_mul, ({}, {"threshold": 0.5}, {"threshold": -0.1})),
    ):
        op, gen = Op(call.__name__, call), Gen(call.__name__)
        for option in options:
            for dtype in FLOATS:
                op.ok(self=gen.normal((3, 8), dtype), **option)
                op.ok(self=gen.normal((2, 2, 4), dtype), **option)
            op.ok(self=gen.normal((2,)), **option)
            op.ok(self=gen.normal((0, 4)), **option)
            op.ok(self=gen.normal((2, 0)), **option)
            op.ok(
                self=tensor([[NAN, 1.0, 2.0, 1.0], [1.0, NAN, 0.5, 3.0], [-0.0, 20.0, 1.0, -1.0], [9.0, 1.0, INF, 2.0]]),
                **option,
            )
            for layout in LAYOUTS:
                op.ok(self=layout(gen.normal((3, 2, 4))), **option)
        op.bad(self=gen.normal((2, 3)))
        op.bad(self=gen.ints((2, 4)))
        op.bad(self=gen.normal(()))
    for dtype in FLOATS:
        # At the threshold itself the gate is closed; NaN is above nothing, so that it closes the gate too.
        op.ok(self=tensor([[0.5, 0.25, 0.75, NAN, 1.0, 2.0, 3.0, 4.0]], dtype), threshold=0.5)


def cases():
    """Every case of this file."""
    plain()
    gated()
