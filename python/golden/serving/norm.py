"""Norms that end in fp8, of vLLM (csrc/layernorm_quant_kernels.cu), and its gated quantisation."""

import torch
from torch.nn import functional

from ..inputs import INF, LAYOUTS, NAN, Gen, tensor
from ..record import Op
from .common import FP8, before_fp8, check_one_scale, computed, one_float_type, require, to_fp8


def normed(total, weight, epsilon):
    """RMS norm of rows, in the type computed in."""
    x = computed(total)
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + epsilon) * computed(weight)


def check(input, weight, scale, residual=None):
    """Refuses what the norms do not take."""
    one_float_type(input, weight, *([] if residual is None else [residual]))
    check_one_scale(scale)
    require(input.dim() and tuple(weight.shape) == tuple(input.shape[-1:]), "weight is [n]")
    require(residual is None or residual.shape == input.shape, "residual has the shape of input")


def rms_f64(input, weight, scale, epsilon):
    """rms_norm_static_fp8_quant before the cast."""
    check(input, weight, scale)
    return before_fp8(normed(input, weight, epsilon) / computed(scale))


def rms_norm_static_fp8_quant(input, weight, scale, epsilon):
    """fp8(rms_norm(input) * weight / scale)."""
    return rms_f64(input, weight, scale, epsilon).to(FP8)


def fused(input, residual, weight, scale, epsilon):
    """The norm before its cast, and the sum, which is rounded to its type before it is normalised."""
    check(input, weight, scale, residual)
    total = input + residual
    return before_fp8(normed(total, weight, epsilon) / computed(scale)), total


def fused_add_rms_norm_static_fp8_quant(input, residual, weight, scale, epsilon):
    """fp8(rms_norm(sum) * weight / scale) and sum = input + residual in their type."""
    out, total = fused(input, residual, weight, scale, epsilon)
    return out.to(FP8), total


def fused_f64(input, residual, weight, scale, epsilon, rounded_to="float64"):
    """The same before the cast to fp8; the sum is rounded to the type of the tensors, which is given by its name."""
    check(input, weight, scale, residual)
    total = input + residual
    rounded = total.to(getattr(torch, rounded_to)).double()
    return before_fp8(normed(rounded, weight, epsilon) / computed(scale)), total


def silu_f64(input, scale):
    """silu_and_mul_quant before the cast."""
    one_float_type(input)
    check_one_scale(scale)
    require(input.dim() and input.shape[-1] % 2 == 0, "an even last dimension")
    gate, up = computed(input).chunk(2, -1)
    return before_fp8(functional.silu(gate) * up / computed(scale))


def silu_and_mul_quant(input, scale):
    """fp8(silu(x[..., :d]) * x[..., d:] / scale)."""
    return silu_f64(input, scale).to(FP8)


def norms():
    """Both norms."""
    op, gen = Op("rms_norm_static_fp8_quant", rms_norm_static_fp8_quant, rms_f64), Gen("rms_norm_static_fp8_quant")
    add = Op("fused_add_rms_norm_static_fp8_quant", fused_add_rms_norm_static_fp8_quant, fused_f64)

    def both(x, residual=None, scale=0.05, epsilon=1e-6, weight=None, n_scale=None):
        weight = gen.normal(x.shape[-1:], mean=1.0, scale=0.25).to(x.dtype) if weight is None else weight
        residual = gen.normal(tuple(x.shape)).to(x.dtype) if residual is None else residual
        args = {"weight": weight, "scale": tensor(scale if n_scale is None else [scale]), "epsilon": epsilon}
        op.ok(input=x, **args)
        add.ok(input=x, residual=residual, **args, instead={"rounded_to": str(x.dtype).removeprefix("torch.")})

    for dtype in ("f32", "f16", "bf16"):
        for shape in ((3, 8), (2, 2, 5), (4,)):
            both(gen.normal(shape, dtype))
        both(gen.normal((2, 4), dtype), scale=0.5, epsilon=0.1, n_scale=1)
        # Saturates.
        both(gen.normal((2, 4), dtype), scale=1e-3)
        # Sums whose rounding matters: 256 + 1 and 2048 + 1 are ties of bf16 and f16.
        both(
            tensor([[256.0, 2048.0, 1.0, -257.0]], dtype),
            tensor([[1.0, 1.0, 0.001, -1.0]], dtype),
            weight=tensor([1.0, 1.0, 1.0, 2.0], dtype),
        )
    both(gen.normal((0, 4)))
    both(gen.normal((3, 1)))
    both(tensor([[0.0, -0.0]]), tensor([[-0.0, 0.0]]), weight=tensor([1.0, 2.0]))
    both(tensor([[NAN, 1.0, 2.0, 3.0], [INF, 1.0, 2.0, 3.0]]), gen.normal((2, 4)))
    for layout in LAYOUTS:
        both(layout(gen.normal((3, 2, 4))))
    weight, scale = gen.normal((4,)), tensor(1.0)
    for bad in ({"weight": gen.normal((3,))}, {"weight": gen.normal((4,), "f16")}, {"scale": tensor([1.0, 1.0])}):
        args = {"input": gen.normal((2, 4)), "weight": weight, "scale": scale, "epsilon": 1e-6, **bad}
        op.bad(**args)
        add.bad(**args, residual=gen.normal((2, 4)))
    add.bad(input=gen.normal((2, 4)), residual=gen.normal((4,)), weight=weight, scale=scale, epsilon=1e-6)


def gate():
    """silu_and_mul_quant."""
    op, gen = Op("silu_and_mul_quant", silu_and_mul_quant, silu_f64), Gen("silu_and_mul_quant")
    for dtype in ("f32", "f16", "bf16"):
        op.ok(input=gen.normal((3, 8), dtype), scale=tensor(0.05))
        op.ok(input=gen.normal((2, 2, 6), dtype, 5), scale=tensor([0.01]))
    op.ok(input=gen.normal((0, 4)), scale=tensor(1.0))
    op.ok(input=gen.normal((2, 0)), scale=tensor(1.0))
    op.ok(input=tensor([[NAN, 1.0, 2.0, 1.0], [100.0, 3.0, 200.0, INF], [-9.0, -0.0, 1.0, 2.0]]), scale=tensor(0.5))
    for layout in LAYOUTS:
        op.ok(input=layout(gen.normal((3, 4))), scale=tensor(0.1))
    op.bad(input=gen.normal((2, 3)), scale=tensor(1.0))
    op.bad(input=gen.ints((2, 4)), scale=tensor(1.0))
    op.bad(input=gen.normal((2, 4)), scale=tensor([1.0, 2.0]))


def cases():
    """Every case of this file."""
    norms()
    gate()
