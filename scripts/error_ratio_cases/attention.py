"""Attention."""

import math

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from .inputs import draw
from .variants import F32, FLOATS, coarse, coarse_inputs, strict_settings, through, truncated, under, wide_then_cast


def attention_reference(causal, parts=False):
    def run(q, k, v):
        repeat = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(repeat, 1), v.repeat_interleave(repeat, 1)
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        if causal:
            scores = scores.masked_fill(~torch.ones_like(scores, dtype=torch.bool).tril(), -math.inf)
        p = torch.softmax(scores, -1)
        # The rounding of P: independent in each term, or the same in all of them.
        return (p.square() @ v.square()).sqrt() + 0.25 * (p @ v).abs() if parts else p @ v

    return run


def attention_variants(dtype, causal, grouped):
    def sdpa(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=grouped)

    def by(backend):
        def run(q, k, v):
            with sdpa_kernel([backend]):
                return sdpa(q, k, v)

        return run

    composed = attention_reference(causal)
    variants = [
        ("library", "math", by(SDPBackend.MATH)),
        ("library", "flash", by(SDPBackend.FLASH_ATTENTION)),
        ("library", "mem-efficient", by(SDPBackend.EFFICIENT_ATTENTION)),
        ("library", "cudnn", by(SDPBackend.CUDNN_ATTENTION)),
    ]
    if dtype == F32:
        return variants + [
            ("relaxed", "math, allow_tf32", under(by(SDPBackend.MATH), tf32=True)),
            ("relaxed", "mem-efficient, allow_tf32", under(by(SDPBackend.EFFICIENT_ATTENTION), tf32=True)),
            (
                "cheat",
                "f16 flash",
                lambda q, k, v: by(SDPBackend.FLASH_ATTENTION)(q.half(), k.half(), v.half()).float(),
            ),
            *coarse_inputs(by(SDPBackend.MATH)),
        ]

    def p_rounded(q, k, v):
        repeat = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(repeat, 1), v.repeat_interleave(repeat, 1)
        p = attention_reference(causal)(
            q.float(), k.float(), torch.eye(k.shape[2], device=k.device).expand(*k.shape[:3], -1)
        )
        return (p.to(dtype).float() @ v.float()).to(dtype)

    return variants + [
        ("legit", "f32, rounded once", wide_then_cast(composed)),
        ("relaxed", "P in dtype", p_rounded),
        ("cheat", "scores and P in dtype", composed),
        ("cheat", "zeros", lambda q, k, v: torch.zeros_like(q)),
        (
            "cheat",
            "mean of v",
            lambda q, k, v: v.mean(2, keepdim=True).repeat_interleave(q.shape[1] // v.shape[1], 1).expand_as(q),
        ),
        ("cheat", "f8e4m3 inputs", coarse(wide_then_cast(composed), through(torch.float8_e4m3fn))),
        ("cheat", "rounded toward zero", truncated(composed)),
    ]


def attention(h):
    strict_settings(h)
    shapes = [
        (2, 8, 8, 512, 512, 64, False),
        (2, 8, 8, 512, 512, 64, True),
        (1, 4, 4, 2048, 2048, 128, True),
        (1, 4, 4, 4096, 4096, 64, False),
        (2, 8, 2, 512, 512, 128, True),
        (4, 8, 2, 1, 4096, 128, False),
        (2, 4, 4, 127, 127, 64, False),
    ]
    for batch, heads, kv_heads, rows, columns, width, causal in shapes:
        rows, columns = h.size(rows, columns)
        label = f"{batch}x{heads}/{kv_heads}x{rows}x{columns}x{width}{' causal' if causal else ''}"
        for dtype in FLOATS:
            for distribution in ["normal", "normal x4", "uniform", "heavy"]:
                q = draw(h, distribution, (batch, heads, rows, width), dtype)
                k = draw(h, "normal" if distribution != "uniform" else distribution, (batch, kv_heads, columns, width), dtype)
                v = draw(h, "normal" if distribution != "uniform" else distribution, (batch, kv_heads, columns, width), dtype)
                variants = attention_variants(dtype, causal, heads != kv_heads)
                scale = attention_reference(causal, parts=True) if dtype != F32 else None
                h.measure(
                    "scaled_dot_product_attention",
                    label,
                    distribution,
                    [q, k, v],
                    attention_reference(causal),
                    variants,
                    max(columns, width),
                    scale=scale,
                    drift=True,
                )
