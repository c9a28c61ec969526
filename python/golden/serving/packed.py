"""Products with packed weights of 4 bits: vLLM's csrc/quantization/awq and gptq, and AutoAWQ's and GPTQ's layouts.

AWQ packs eight neighbours of a row into an i32: column 8 j + i has the four bits from 4 ORDER[i] on. GPTQ packs eight
neighbours of a column of its weights, and of a row of its zeros, in their order.
"""

import torch

from ..inputs import LAYOUTS, Gen
from ..record import Op
from .common import computed, require

ORDER = (0, 4, 1, 5, 2, 6, 3, 7)


def nibbles(packed, order, dim):
    """Eight numbers for each i32 along a dimension."""
    parts = torch.stack([(packed.long() >> (4 * place)) & 15 for place in order], dim + 1)
    return computed(parts.flatten(dim, dim + 1))


def check(qweight, scales, qzeros, rows, columns):
    """Refuses shapes that do not fit; returns the rows of a group."""
    require(qweight.dtype == torch.int32 == qzeros.dtype and scales.dtype.is_floating_point, "packed i32")
    require(scales.dim() == 2 and qzeros.dim() == 2 and scales.shape[1] == columns, "scales [groups, n]")
    require(tuple(qzeros.shape) == (scales.shape[0], columns // 8) and columns % 8 == 0, "zeros [groups, n / 8]")
    require(scales.shape[0] and rows % scales.shape[0] == 0, "groups divide the rows")
    return rows // scales.shape[0]


def awq(qweight, scales, qzeros):
    """The weights in the type computed in."""
    require(qweight.dim() == 2, "[k, n / 8]")
    size = check(qweight, scales, qzeros, qweight.shape[0], 8 * qweight.shape[1])
    zeros = nibbles(qzeros, ORDER, 1).repeat_interleave(size, 0)
    return (nibbles(qweight, ORDER, 1) - zeros) * computed(scales).repeat_interleave(size, 0)


def awq_dequantize(qweight, scales, qzeros):
    """(q - zero) * scale."""
    return awq(qweight, scales, qzeros).to(scales.dtype)


def awq_gemm(input, qweight, scales, qzeros):
    """input @ the dequantised weights."""
    weights = awq(qweight, scales, qzeros)
    require(input.dtype == scales.dtype and input.dim() == 2 and input.shape[1] == weights.shape[0], "input [m, k]")
    return (computed(input) @ weights).to(input.dtype)


def gptq_gemm(a, b_q_weight, b_gptq_qzeros, b_gptq_scales, b_g_idx):
    """a @ ((q - (zero + 1)) * scale), the group of each row of the weights by b_g_idx."""
    require(b_q_weight.dim() == 2, "[k / 8, n]")
    rows, columns = 8 * b_q_weight.shape[0], b_q_weight.shape[1]
    require(a.dtype == b_gptq_scales.dtype and a.dim() == 2 and a.shape[1] == rows, "a [m, k]")
    require(tuple(b_g_idx.shape) == (rows,) and b_g_idx.dtype == torch.int32, "b_g_idx is i32 [k]")
    require(b_q_weight.dtype == torch.int32 == b_gptq_qzeros.dtype and b_gptq_scales.dim() == 2, "packed i32")
    require(columns % 8 == 0 and tuple(b_gptq_qzeros.shape) == (b_gptq_scales.shape[0], columns // 8), "zeros")
    require(b_gptq_scales.shape[1] == columns, "scales [groups, n]")
    group = b_g_idx.long()
    zeros = nibbles(b_gptq_qzeros, range(8), 1)[group] + 1
    weights = (nibbles(b_q_weight, range(8), 0) - zeros) * computed(b_gptq_scales)[group]
    return (computed(a) @ weights).to(a.dtype)


def cases():
    """Every case of this file."""
    plain, product = Op("awq_dequantize", awq_dequantize), Op("awq_gemm", awq_gemm)
    gptq, gen = Op("gptq_gemm", gptq_gemm), Gen("packed")

    def words(*shape):
        return gen.ints(shape, "i32", -(2**31), 2**31 - 1)

    def awq_args(k, n, groups, dtype="f16"):
        return {"qweight": words(k, n // 8), "scales": gen.uniform((groups, n), dtype, 0.01, 0.1), "qzeros": words(groups, n // 8)}

    def gptq_args(m, k, n, groups, dtype="f16"):
        return {
            "a": gen.normal((m, k), dtype),
            "b_q_weight": words(k // 8, n),
            "b_gptq_qzeros": words(groups, n // 8),
            "b_gptq_scales": gen.uniform((groups, n), dtype, 0.01, 0.1),
            "b_g_idx": gen.ints((k,), "i32", 0, groups - 1),
        }

    for dtype in ("f16", "bf16"):
        for k, n, groups in ((4, 16, 2), (3, 8, 1), (8, 24, 8)):
            args = awq_args(k, n, groups, dtype)
            plain.ok(**args)
            product.ok(input=gen.normal((3, k), dtype), **args)
        for m, k, n, groups in ((3, 16, 8, 2), (1, 8, 16, 1), (2, 24, 8, 5)):
            gptq.ok(**gptq_args(m, k, n, groups, dtype))
    # Each number of a word once, in rising order, with zeros of 0.
    order = torch.tensor([[0x76543210, -0x01234568]], dtype=torch.int32)
    ones = gen.uniform((1, 16), "f16", 1, 1)
    plain.ok(qweight=order, scales=ones, qzeros=torch.zeros(1, 2, dtype=torch.int32))
    plain.ok(qweight=torch.zeros(1, 2, dtype=torch.int32), scales=ones, qzeros=order)
    product.ok(input=gen.normal((0, 4), "f16"), **awq_args(4, 8, 2))
    gptq.ok(**gptq_args(0, 8, 8, 1))
    for layout in LAYOUTS:
        args = awq_args(4, 16, 4)
        plain.ok(**{name: layout(t) for name, t in args.items()})
        product.ok(input=layout(gen.normal((3, 4), "f16")), **args)
    plain.bad(**{**awq_args(4, 16, 2), "scales": gen.uniform((3, 16), "f16")})
    plain.bad(**{**awq_args(4, 16, 2), "qzeros": words(1, 2)})
    plain.bad(**{**awq_args(4, 16, 2), "qweight": gen.normal((4, 2))})
    product.bad(input=gen.normal((3, 5), "f16"), **awq_args(4, 16, 2))
    product.bad(input=gen.normal((3, 4), "f32"), **awq_args(4, 16, 2))
    gptq.bad(**{**gptq_args(3, 16, 8, 2), "b_g_idx": gen.ints((8,), "i32", 0, 1)})
    gptq.bad(**{**gptq_args(3, 16, 8, 2), "a": gen.normal((3, 8), "f16")})
    gptq.bad(**{**gptq_args(3, 16, 8, 2), "b_g_idx": gen.ints((16,), "i32", 5, 6)}, note="values")
