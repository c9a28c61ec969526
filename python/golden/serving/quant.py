"""Quantisation of vLLM: csrc/quantization/fp8/common.cu, compressed_tensors/int8_quant_kernels.cu, and the references
of tests/kernels/quant_utils.py and test_block_fp8.py.

A scale that is made is divided by as it is stored, in f32.
"""

import torch

from ..inputs import DTYPES, INF, LAYOUTS, NAN, Gen, tensor
from ..record import Op
from .common import FP8, FP8_MAX, before_fp8, check_one_scale, computed, require, stored

# The least scale of a token: 1 / (448 * 512).
LEAST = 1.0 / (FP8_MAX * 512.0)


def check_float(input):
    """Refuses integers, and tensors without elements to take a maximum of."""
    require(input.dtype.is_floating_point and input.dim() and input.shape[-1], "rows of floats")


def tensor_f64(input):
    """dynamic_scaled_fp8_quant before the cast."""
    check_float(input)
    scale = stored(computed(input).abs().amax() / FP8_MAX).reshape(1)
    return before_fp8(computed(input) / scale), scale


def dynamic_scaled_fp8_quant(input):
    """fp8(input / scale) with scale [1] = max |input| / 448."""
    out, scale = tensor_f64(input)
    return out.to(FP8), scale


def token_f64(input, scale_ub=None):
    """dynamic_per_token_scaled_fp8_quant before the cast."""
    check_float(input)
    largest = computed(input).abs().amax(-1, keepdim=True)
    if scale_ub is not None:
        check_one_scale(scale_ub)
        largest = torch.clamp(largest, max=computed(scale_ub).item())
    scale = stored(torch.clamp(largest / FP8_MAX, min=LEAST))
    return before_fp8(computed(input) / scale), scale


def dynamic_per_token_scaled_fp8_quant(input, scale_ub=None):
    """Per row: fp8(input / scale) with scale = max(min(max |row|, scale_ub) / 448, 1 / (448 * 512))."""
    out, scale = token_f64(input, scale_ub)
    return out.to(FP8), scale


def to_int8(x):
    """Nearest even, saturating."""
    return torch.clamp(x.round(), -128, 127).to(torch.int8)


def static_scaled_int8_quant(input, scale, azp=None):
    """int8(round(input / scale) + azp)."""
    require(input.dtype.is_floating_point, "floats")
    check_one_scale(scale)
    require(azp is None or (azp.dtype == torch.int32 and tuple(azp.shape) in ((), (1,))), "one i32 zero point")
    quotient = (computed(input) / computed(scale)).round()
    quotient = torch.where(quotient.isnan(), 0.0, quotient)
    return to_int8(quotient if azp is None else quotient + azp)


def dynamic_scaled_int8_quant(input):
    """Per row: int8(input / scale) with scale = max |row| / 127; rows of zeros give zeros."""
    check_float(input)
    scale = stored(computed(input).abs().amax(-1, keepdim=True) / 127)
    return to_int8(torch.where(scale > 0, computed(input) / scale, torch.zeros_like(scale))), scale


def groups(input, group_size, eps, most):
    """The groups of rows with the scale of each, [.., n / group_size]."""
    check_float(input)
    require(group_size > 0 and input.shape[-1] % group_size == 0, "groups divide the last dimension")
    x = computed(input).unflatten(-1, (-1, group_size))
    return x, torch.clamp(x.abs().amax(-1), min=eps) / most


def group_f64(input, group_size, eps=1e-10, use_ue8m0=False):
    """per_token_group_quant_fp8 before the cast."""
    x, scale = groups(input, group_size, eps, FP8_MAX)
    scale = stored(scale)
    if use_ue8m0:
        scale = torch.exp2(torch.ceil(torch.log2(torch.clamp(scale, min=1e-10))))
    return before_fp8(x / scale.unsqueeze(-1)).flatten(-2), scale


def per_token_group_quant_fp8(input, group_size, eps=1e-10, use_ue8m0=False):
    """Per group of a row: fp8(input / scale), scale = max(max |group|, eps) / 448, rounded up to a power of two if asked."""
    out, scale = group_f64(input, group_size, eps, use_ue8m0)
    return out.to(FP8), scale


def per_token_group_quant_int8(input, group_size, eps=1e-10):
    """Per group of a row: int8(input / scale) with scale = max(max |group|, eps) / 127."""
    x, scale = groups(input, group_size, eps, 127)
    scale = stored(scale)
    return to_int8(x / scale.unsqueeze(-1)).flatten(-2), scale


def block_product(A, B, As, Bs, block_size, output_dtype=torch.float16):
    """w8a8_block_fp8_matmul in the type computed in."""
    require(A.dtype == FP8 == B.dtype or A.dtype == torch.float64 == B.dtype, "fp8 matrices")
    require(A.dim() == 2 and B.dim() == 2 and A.shape[1] == B.shape[1], "[m, k] and [n, k]")
    (n, k), (block_n, block_k) = B.shape, block_size
    require(block_n > 0 and block_k > 0, "blocks")
    require(tuple(As.shape) == (A.shape[0], -(-k // block_k)), "As is [m, blocks of k]")
    require(tuple(Bs.shape) == (-(-n // block_n), -(-k // block_k)), "Bs is [blocks of n, blocks of k]")
    out = torch.zeros(A.shape[0], n, dtype=torch.get_default_dtype())
    for at in range(As.shape[1]):
        inner = slice(at * block_k, (at + 1) * block_k)
        scale = computed(Bs)[:, at].repeat_interleave(block_n)[:n]
        out += computed(A)[:, inner] @ computed(B)[:, inner].t() * computed(As)[:, at : at + 1] * scale
    return out


def w8a8_block_fp8_matmul(A, B, As, Bs, block_size, output_dtype=torch.float16):
    """A @ B^T, each block's product scaled by As of its row and block and Bs of its blocks, rounded once."""
    require(output_dtype in (torch.float16, torch.bfloat16, torch.float32), "a type of results")
    return block_product(A, B, As, Bs, block_size).to(output_dtype)


SPECIAL = [[NAN, 1.0, 2.0, 0.5], [INF, -INF, 1.0, -1.0], [-0.0, 0.0, 0.0, 0.0], [500.0, -500.0, 464.0, 1e-9]]


def fp8():
    """The fp8 quantisations with scales that they make."""
    whole = Op("dynamic_scaled_fp8_quant", dynamic_scaled_fp8_quant, tensor_f64)
    token = Op("dynamic_per_token_scaled_fp8_quant", dynamic_per_token_scaled_fp8_quant, token_f64)
    gen = Gen("dynamic_scaled_fp8_quant")
    for dtype in ("f32", "f16", "bf16"):
        for shape in ((3, 8), (2, 3, 5), (7,), (1, 1)):
            whole.ok(input=gen.normal(shape, dtype, 10))
            token.ok(input=gen.normal(shape, dtype, 10))
        token.ok(input=tensor(SPECIAL, dtype))
        # A scale below the least one, and an upper bound that saturates.
        token.ok(input=gen.normal((2, 4), dtype, 1e-4))
        token.ok(input=gen.normal((3, 6), dtype, 10), scale_ub=tensor([5.0]))
        token.ok(input=gen.normal((3, 6), dtype, 10), scale_ub=tensor(100.0))
        whole.ok(input=tensor([[0.0, -0.0, 2.0, 448.0]], dtype))
    whole.ok(input=tensor([[0.0, -0.0], [0.0, 0.0]]))
    for row in SPECIAL:
        whole.ok(input=tensor([row]))
    for layout in LAYOUTS:
        whole.ok(input=layout(gen.normal((3, 4))))
        token.ok(input=layout(gen.normal((3, 4))))
    token.ok(input=gen.normal((0, 4)))
    for op in (whole, token):
        op.bad(input=gen.ints((2, 3)))
        op.bad(input=gen.normal(()))
    token.bad(input=gen.normal((2, 3)), scale_ub=tensor([1.0, 2.0]))


def int8():
    """The int8 quantisations; what NaN and infinities give is left open."""
    given, token = Op("static_scaled_int8_quant", static_scaled_int8_quant), None
    token = Op("dynamic_scaled_int8_quant", dynamic_scaled_int8_quant)
    gen = Gen("static_scaled_int8_quant")
    ties = tensor([[0.5, 1.5, 2.5, -0.5, -1.5, 126.5, 127.5, -128.5, 200.0, -300.0, -0.0]])
    for dtype in ("f32", "f16", "bf16"):
        given.ok(input=gen.normal((3, 8), dtype, 50), scale=tensor(0.5))
        given.ok(input=gen.normal((2, 2, 3), dtype, 50), scale=tensor([0.5]), azp=tensor([7.0]).int())
        given.ok(input=gen.normal((9,), dtype, 50), scale=tensor(1.0), azp=tensor(-30.0).int())
        given.ok(input=tensor([NAN, INF, -INF, 2.0]).to(DTYPES[dtype]), scale=tensor(1.0), azp=tensor([5]).int())
        given.ok(input=ties.to(DTYPES[dtype]), scale=tensor(1.0))
        given.ok(input=tensor([1.0, -1.0, 0.0, NAN]).to(DTYPES[dtype]), scale=tensor(0.0))
        given.ok(input=ties.to(DTYPES[dtype]), scale=tensor(1.0), azp=tensor([-128.0]).int())
        for shape in ((3, 8), (2, 3, 5), (7,), (1, 1)):
            token.ok(input=gen.normal(shape, dtype, 10))
        token.ok(input=tensor([[0.0, -0.0, 0.0], [127.0, 0.5, 1.5], [1.0, -2.0, 1.5]], dtype))
    given.ok(input=gen.normal((0, 4)), scale=tensor(1.0))
    given.ok(input=gen.normal((2, 0)), scale=tensor(1.0))
    token.ok(input=gen.normal((0, 4)))
    for layout in LAYOUTS:
        given.ok(input=layout(gen.normal((3, 4))), scale=tensor(0.125))
        token.ok(input=layout(gen.normal((3, 4))))
    given.bad(input=gen.ints((2, 3)), scale=tensor(1.0))
    given.bad(input=gen.normal((2, 3)), scale=tensor([1.0, 1.0]))
    given.bad(input=gen.normal((2, 3)), scale=tensor(1.0), azp=tensor([1.0]))
    token.bad(input=gen.ints((2, 3)))
    token.bad(input=gen.normal((2, 0)))


def grouped():
    """The quantisations by groups."""
    fp8_op = Op("per_token_group_quant_fp8", per_token_group_quant_fp8, group_f64)
    int8_op = Op("per_token_group_quant_int8", per_token_group_quant_int8)
    gen = Gen("per_token_group_quant")
    for dtype in ("f32", "f16", "bf16"):
        for shape, size in (((3, 8), 4), ((2, 2, 6), 2), ((9,), 3), ((2, 5), 5), ((2, 4), 1)):
            fp8_op.ok(input=gen.normal(shape, dtype, 10), group_size=size)
            fp8_op.ok(input=gen.normal(shape, dtype, 10), group_size=size, use_ue8m0=True)
            int8_op.ok(input=gen.normal(shape, dtype, 10), group_size=size)
        fp8_op.ok(input=tensor(SPECIAL, dtype), group_size=2)
        # Scales that are powers of two already stay.
        fp8_op.ok(input=tensor([[448.0, 1.0, 224.0, 3.0, 0.0, 0.0]], dtype), group_size=2, use_ue8m0=True)
        int8_op.ok(input=tensor([[127.0, 0.5, 63.5, 1.25, 0.0, -0.0]], dtype), group_size=2)
        int8_op.ok(input=gen.normal((2, 4), dtype, 0.1), group_size=2, eps=1.0)
        fp8_op.ok(input=gen.normal((2, 4), dtype, 0.1), group_size=2, eps=1.0)
    fp8_op.ok(input=gen.normal((0, 4)), group_size=2)
    int8_op.ok(input=gen.normal((0, 4)), group_size=2)
    for layout in LAYOUTS:
        fp8_op.ok(input=layout(gen.normal((3, 4))), group_size=2)
        int8_op.ok(input=layout(gen.normal((3, 4))), group_size=2)
    for op in (fp8_op, int8_op):
        op.bad(input=gen.normal((2, 5)), group_size=2)
        op.bad(input=gen.normal((2, 4)), group_size=0)
        op.bad(input=gen.ints((2, 4)), group_size=2)


def blocks():
    """w8a8_block_fp8_matmul."""
    op, gen = Op("w8a8_block_fp8_matmul", w8a8_block_fp8_matmul, block_product), Gen("w8a8_block_fp8_matmul")

    def args(m, n, k, block):
        scales = ((m, -(-k // block[1])), (-(-n // block[0]), -(-k // block[1])))
        return {
            "A": gen.normal((m, k), "f8e4m3"),
            "B": gen.normal((n, k), "f8e4m3"),
            "As": gen.uniform(scales[0], "f32", 0.01, 2),
            "Bs": gen.uniform(scales[1], "f32", 0.01, 2),
            "block_size": block,
        }

    for out in ("f32", "f16", "bf16"):
        for m, n, k, block in ((3, 4, 8, [2, 4]), (2, 5, 7, [2, 3]), (1, 1, 1, [4, 4]), (4, 6, 8, [6, 8])):
            op.ok(**args(m, n, k, block), output_dtype=DTYPES[out])
    op.ok(**args(2, 3, 5, [1, 1]))
    for m, n, k in ((0, 4, 3), (2, 0, 3), (2, 3, 0)):
        op.ok(**args(m, n, k, [2, 2]))
    nan = args(2, 3, 4, [2, 2])
    nan["A"][0, 0] = NAN
    op.ok(**nan)
    op.bad(**{**args(2, 3, 4, [2, 2]), "As": gen.normal((2, 1))})
    op.bad(**{**args(2, 3, 4, [2, 2]), "Bs": gen.normal((2, 1))})
    op.bad(**{**args(2, 3, 4, [2, 2]), "A": gen.normal((2, 4))})
    op.bad(**{**args(2, 3, 4, [2, 2]), "B": gen.normal((3, 5), "f8e4m3")})


def cases():
    """Every case of this file."""
    fp8()
    int8()
    grouped()
    blocks()
