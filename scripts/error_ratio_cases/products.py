"""Products and convolutions."""

import math

import torch
import torch.nn.functional as F

from error_ratios import DELTA_RMS

from .inputs import draw, draw_pair, odd
from .variants import (
    F32,
    FLOATS,
    coarse_inputs,
    plain,
    relaxed,
    strict_settings,
    tf32,
    through,
    truncated,
    under,
    wide_then_cast,
)


def split_k(a, b, parts, partial):
    total = None
    for x, y in zip(a.chunk(parts, -1), b.chunk(parts, -2)):
        term = partial(x, y)
        total = term if total is None else total + term
    return total


def three_tf32(a, b):
    big, other = tf32(a), tf32(b)
    with relaxed(tf32=True):
        return big @ tf32(b - other) + tf32(a - big) @ other + big @ other


def three_bf16(a, b):
    cut = through(torch.bfloat16)
    big, other = cut(a), cut(b)
    return big @ cut(b - other) + cut(a - big) @ other + big @ other


def product_variants(dtype):
    def run(a, b):
        return a @ b

    if dtype == F32:
        return [
            ("library", "fp32", run),
            ("legit", "split-K 8", lambda a, b: split_k(a, b, 8, run)),
            ("legit", "3xTF32", three_tf32),
            ("relaxed", "allow_tf32", under(run, tf32=True)),
            ("cheat", "3xBF16", three_bf16),
            *coarse_inputs(run),
        ]
    flag = {torch.float16: {"fp16_reduction": True}, torch.bfloat16: {"bf16_reduction": True}}[dtype]
    variants = [
        ("library", "f32 reduction", run),
        ("library", "f32 output", lambda a, b: (torch.mm if a.dim() == 2 else torch.bmm)(a, b, out_dtype=F32)),
        ("relaxed", "reduced precision reduction", under(run, **flag)),
        ("legit", "f32, rounded once", wide_then_cast(run)),
        ("cheat", "rounded toward zero", truncated(run)),
    ]
    for parts in (2, 8):
        variants.append(
            ("cheat", f"split-K {parts}, partial sums in dtype", lambda a, b, parts=parts: split_k(a, b, parts, run))
        )
    if dtype == torch.float16:
        variants.append(("relaxed", "fp16 accumulation", under(run, fp16_accumulation=True)))
    return variants


def product_spread(a, b, *bias):
    squares = 2.0 * (a.square() @ b.square())
    return DELTA_RMS * (squares + (bias[0].square() if bias else 0.0)).sqrt()


def products(h):
    strict_settings(h)
    shapes = [
        (128, 128, 64),
        (512, 512, 512),
        (1024, 1024, 1024),
        (127, 129, 1023),
        (256, 256, 4096),
        (64, 64, 16384),
        (128, 128, 16384),
        (1, 4096, 4096),
        (8, 4096, 4096),
        (4096, 8, 4096),
        (16, 16, 65536),
    ]
    for dtype in FLOATS:
        for m, n, k in shapes:
            m, n, k = h.size(m, n, k)
            for distribution in ["normal", "uniform", "heavy", "shifted", "large", "exact"]:
                a, b = draw_pair(h, distribution, (m, k), (k, n), dtype)
                h.measure(
                    "mm",
                    f"{m}x{n}x{k}",
                    distribution,
                    [a, b],
                    lambda a, b: a @ b,
                    product_variants(dtype),
                    k,
                    spread=product_spread,
                    drift=True,
                )
        # Enough tiles to fill the GPU: the library has no reason to split K.
        for m, k in [(4096, 4096), (2048, 16384)]:
            m, k = h.size(m, k)
            for distribution in ["normal", "uniform", "shifted"]:
                a, b = draw_pair(h, distribution, (m, k), (k, m), dtype)
                h.measure(
                    "mm",
                    f"{m}x{m}x{k}",
                    distribution,
                    [a, b],
                    lambda a, b: a @ b,
                    product_variants(dtype),
                    k,
                    spread=product_spread,
                    drift=True,
                )
        for batch, m, n, k in [(16, 128, 128, 64), (64, 197, 64, 197), (4, 512, 512, 2048)]:
            m, n, k = h.size(m, n, k)
            for distribution in ["normal", "uniform", "exact"]:
                a, b = draw_pair(h, distribution, (batch, m, k), (batch, k, n), dtype)
                h.measure(
                    "bmm",
                    f"{batch}x{m}x{n}x{k}",
                    distribution,
                    [a, b],
                    torch.bmm,
                    product_variants(dtype),
                    k,
                    spread=product_spread,
                    drift=True,
                )
        with_bias(h, dtype)


def with_bias(h, dtype):
    for m, n, k in [(256, 768, 768), (32, 1024, 4096), (1, 1000, 2048)]:
        m, n, k = h.size(m, n, k)
        for distribution in ["normal", "uniform"]:
            a, b = draw_pair(h, distribution, (m, k), (k, n), dtype)
            bias = draw(h, "normal", (n,), dtype, std=0.5)

            def run(a, b, c):
                return torch.addmm(c, a, b)

            variants = plain(run, dtype)
            if dtype == F32:
                variants.append(("relaxed", "allow_tf32", under(run, tf32=True)))
            else:
                variants.append(
                    ("relaxed", "reduced precision reduction", under(run, fp16_reduction=True, bf16_reduction=True))
                )
                variants.append(("cheat", "product rounded before the bias", lambda a, b, c: a @ b + c))
            h.measure(
                "addmm", f"{m}x{n}x{k}", distribution, [a, b, bias], run, variants, k, spread=product_spread, drift=True
            )


# Convolutions: name, dims, input shape, weight shape, options, transposed


CONVOLUTIONS = [
    ("1x1", 2, (8, 256, 28, 28), (256, 256, 1, 1), {}, False),
    ("3x3", 2, (8, 64, 56, 56), (64, 64, 3, 3), {"padding": 1}, False),
    ("3x3 deep", 2, (4, 512, 14, 14), (512, 512, 3, 3), {"padding": 1}, False),
    ("5x5", 2, (4, 32, 40, 40), (64, 32, 5, 5), {"padding": 2}, False),
    ("7x7 stride 2", 2, (8, 3, 112, 112), (64, 3, 7, 7), {"padding": 3, "stride": 2}, False),
    ("3x3 dilated", 2, (4, 64, 28, 28), (64, 64, 3, 3), {"padding": 2, "dilation": 2}, False),
    ("depthwise 3x3", 2, (8, 128, 28, 28), (128, 1, 3, 3), {"padding": 1, "groups": 128}, False),
    ("grouped 3x3", 2, (8, 128, 28, 28), (128, 32, 3, 3), {"padding": 1, "groups": 4}, False),
    ("1-d k5", 1, (8, 64, 1024), (64, 64, 5), {"padding": 2}, False),
    ("3-d 3x3x3", 3, (2, 16, 16, 28, 28), (32, 16, 3, 3, 3), {"padding": 1}, False),
    ("transposed 4x4 stride 2", 2, (8, 64, 28, 28), (64, 64, 4, 4), {"padding": 1, "stride": 2}, True),
    (
        "transposed 3-d stride 2",
        3,
        (2, 16, 8, 14, 14),
        (16, 16, 3, 3, 3),
        {"stride": 2, "padding": 1, "output_padding": 1},
        True,
    ),
]


def convolutions(h):
    strict_settings(h)
    for name, dims, x_shape, w_shape, options, transposed in CONVOLUTIONS:
        function = getattr(F, f"conv{'_transpose' if transposed else ''}{dims}d")
        if h.tiny:
            x_shape = (2, *x_shape[1:2], *(min(n, 12) for n in x_shape[2:]))
        groups = options.get("groups", 1)
        length = math.prod(w_shape[2:]) * (x_shape[1] // groups)
        for dtype in FLOATS:
            for distribution in ["normal", "uniform", "heavy", "exact"]:
                convolution(h, name, function, options, x_shape, w_shape, dtype, distribution, length, transposed)


def convolution(h, name, function, options, x_shape, w_shape, dtype, distribution, length, transposed):
    # The sum of |products| behind an output stays below 2^24, and in the range of f16.
    x, w = conv_inputs(h, distribution, x_shape, w_shape, dtype, length)

    def run(x, w):
        return function(x, w, None, **options)

    def spread(x, w):
        return DELTA_RMS * (2.0 * run(x.square(), w.square())).sqrt()

    variants = plain(run, dtype)
    variants.append(("library", "cuDNN's fastest", under(run, benchmark=True)))
    if dtype == F32:
        variants.append(("relaxed", "allow_tf32", under(run, tf32=True)))
        variants.append(("library", "without cuDNN", under(run, cudnn=False)))
    if x.dim() == 4 and not transposed:

        def channels_last(x, w):
            last = torch.channels_last
            return run(x.contiguous(memory_format=last), w.contiguous(memory_format=last))

        variants.append(("library", "channels_last", channels_last))
    op = f"{'transposed ' if transposed else ''}convolution"
    h.measure(op, name, distribution, [x, w], run, variants, length, spread=spread, drift=True)


def conv_inputs(h, distribution, x_shape, w_shape, dtype, length):
    if distribution != "exact":
        second = "normal" if distribution == "heavy" else distribution
        return draw(h, distribution, x_shape, dtype), draw(h, second, w_shape, dtype)
    top = {F32: 2**24, torch.float16: 60000, torch.bfloat16: 2**24}[dtype] // length
    if dtype == F32:
        return odd(h, x_shape, min(4095, top), dtype), odd(h, w_shape, 1, dtype)
    limit = min({torch.float16: 31, torch.bfloat16: 127}[dtype], math.isqrt(top))
    return odd(h, x_shape, limit, dtype), odd(h, w_shape, limit, dtype)
