"""Indexing, fp8 and fused ops."""

import torch
import torch.nn.functional as F

from error_ratios import DELTA_RMS

from .inputs import draw, index, odd
from .variants import F32, FLOATS, coarse, plain, tf32, through, truncated, wide_then_cast

E4M3 = torch.float8_e4m3fn


def indexing(h):
    for dtype in FLOATS:
        for distribution in ["normal", "uniform", "exact"]:
            table = h_values(h, distribution, (1000, 64), dtype)
            for name, bag in [("random", 50), ("equal", 50)]:
                ids = index(h, 1000, (128, bag)) if name == "random" else torch.full((128, bag), 7, device=h.device)
                for mode in ["sum", "mean"]:
                    if distribution == "exact" and mode == "mean":
                        continue
                    run = lambda w, i, mode=mode: F.embedding_bag(i, w, mode=mode)
                    h.measure("embedding_bag", f"{mode} {name}", distribution, [table, ids], run, plain(run, dtype), bag)
            adders(h, distribution, dtype)


def h_values(h, distribution, shape, dtype):
    limit = 4095 if dtype == F32 else 31
    return odd(h, shape, limit, dtype) if distribution == "exact" else draw(h, distribution, shape, dtype)


def adders(h, distribution, dtype):
    rows = h.size(4096)[0]
    for name, ids in [
        ("random", index(h, 100, (rows,))),
        ("equal", torch.zeros(rows, dtype=torch.long, device=h.device)),
    ]:
        source, base = h_values(h, distribution, (rows, 16), dtype), h_values(h, distribution, (100, 16), dtype)
        if distribution == "exact" and name == "equal" and dtype != torch.bfloat16:
            source = torch.sign(source)
        length = 1 + int(torch.bincount(ids).max())
        run = lambda b, s, i: b.index_add(0, i, s)
        h.measure("index_add", name, distribution, [base, source, ids], run, plain(run, dtype), length)
        wide = ids[:, None].expand(-1, 16).contiguous()
        run = lambda b, s, i: b.scatter_add(0, i, s)
        h.measure("scatter_add", name, distribution, [base, source, wide], run, plain(run, dtype), length)
        run = lambda b, s, i: b.index_put((i,), s, accumulate=True)
        h.measure("index_put accumulate", name, distribution, [base, source, ids], run, plain(run, dtype), length)


# fp8


def scaled(a, b, sa, sb):
    return (a @ b) * sa * sb


def fp8_product(out, fast, rowwise=False):
    def run(a, b, sa, sb):
        if rowwise:
            sa, sb = sa.expand(a.shape[0], 1).contiguous(), sb.expand(1, b.shape[1]).contiguous()
        return torch._scaled_mm(a, b, scale_a=sa, scale_b=sb, out_dtype=out, use_fast_accum=fast)

    return run


def fp8(h):
    def spread(a, b, sa, sb):
        return DELTA_RMS * (2.0 * (a.square() @ b.square())).sqrt() * sa * sb

    def scale(a, b, sa, sb):
        return (a.square() @ b.square()).sqrt() * sa * sb

    def wide(out):
        return lambda a, b, sa, sb: ((a.float() @ b.float()) * sa * sb).to(out)

    def parts(out, count, partial):
        def run(a, b, sa, sb):
            total = sum(
                (
                    (x.float() @ y.float()).to(partial).float()
                    for x, y in zip(a.float().chunk(count, 1), b.float().chunk(count, 0))
                )
            )
            return (total * sa * sb).to(out)

        return run

    # Power-of-two scales, so that exact integers stay exact; the others do not.
    for m, n, k in [(256, 256, 128), (256, 256, 1024), (256, 256, 4096), (128, 128, 16384), (16, 4096, 4096)]:
        for distribution in ["normal", "uniform", "heavy", "exact", "exact long"]:
            if distribution.startswith("exact"):
                limit = 15 if distribution == "exact" else 3
                a, b = odd(h, (m, k), limit, F32).to(E4M3), odd(h, (k, n), limit, F32).to(E4M3)
                if distribution == "exact long":
                    a, b = (a.float().abs() * 16).to(E4M3), b.float().abs().to(E4M3)
            else:
                top = 448.0 if distribution == "heavy" else 8.0
                a, b = draw(h, distribution, (m, k), F32), draw(h, "normal" if distribution == "heavy" else distribution, (k, n), F32)
                a, b = (a * top / a.abs().max() if top > 100 else a).to(E4M3), b.to(E4M3)
            b = b.t().contiguous().t()
            sizes = [1.0, 1.0] if distribution.startswith("exact") else [0.37, 1.9]
            sa, sb = (torch.tensor([[value]], device=h.device) for value in sizes)
            variants = [
                ("library", "bf16 out", fp8_product(torch.bfloat16, False)),
                ("library", "bf16 out, fast accumulation", fp8_product(torch.bfloat16, True)),
                ("library", "bf16 out, row scales", fp8_product(torch.bfloat16, False, True)),
                ("library", "bf16 out, row scales, fast accumulation", fp8_product(torch.bfloat16, True, True)),
                ("library", "f32 out", fp8_product(F32, False)),
                ("library", "f32 out, fast accumulation", fp8_product(F32, True)),
                ("library", "f16 out", fp8_product(torch.float16, False)),
                ("legit", "f32, bf16 out", wide(torch.bfloat16)),
                ("cheat", "8 partial sums in bf16, bf16 out", parts(torch.bfloat16, 8, torch.bfloat16)),
                ("cheat", "8 partial sums in f16, f32 out", parts(F32, 8, torch.float16)),
                ("cheat", "bf16 result in f32", lambda *x: wide(torch.bfloat16)(*x).float()),
                (
                    "cheat",
                    "zeros, bf16 out",
                    lambda a, b, sa, sb: torch.zeros(a.shape[0], b.shape[1], dtype=torch.bfloat16, device=a.device),
                ),
            ]
            name = "exact" if distribution.startswith("exact") else distribution
            h.measure(
                "scaled_mm",
                f"{m}x{n}x{k}{' long' if 'long' in distribution else ''}",
                name,
                [a, b, sa, sb],
                scaled,
                variants,
                k,
                spread=spread,
                scale=scale,
                drift=True,
            )
    quantize(h)


def quantize(h):
    for dtype in FLOATS:
        x = draw(h, "normal", h.size(1 << 20), dtype)
        scale = torch.tensor(0.0123, device=h.device)

        def run(x, s):
            return (x.float() / s).clamp(-448.0, 448.0).to(E4M3)

        def reference(x, s):
            return (x / s).clamp(-448.0, 448.0)

        variants = [
            ("library", "f32 division", run),
            ("approx", "times the reciprocal", lambda x, s: (x.float() * (1.0 / s)).clamp(-448.0, 448.0).to(E4M3)),
        ]
        if dtype != F32:
            variants.append(
                ("cheat", "divided in dtype", lambda x, s: (x / s.to(x.dtype)).clamp(-448.0, 448.0).to(E4M3))
            )
        h.measure("quantize_fp8", "1M", "normal", [x, scale], reference, variants, 1)


# Fused ops: f32 inside is the contract, the composition in the dtype is what eager code does


def fused(h):
    for dtype in FLOATS:
        rows, n = h.size(512, 4096)
        x, residual, weight = (
            draw(h, "normal", (rows, n), dtype),
            draw(h, "normal", (rows, n), dtype),
            draw(h, "normal", (n,), dtype, 1.0, 0.25),
        )
        angle = draw(h, "uniform", (rows, n // 2), F32) * 6.28
        cos, sin = torch.cos(angle).to(dtype), torch.sin(angle).to(dtype)

        def add_norm(x, r, w):
            total = x + r
            return total * torch.rsqrt(total.square().mean(-1, keepdim=True) + 1e-6) * w

        def rope(x, c, s):
            first, second = x.chunk(2, -1)
            return torch.cat([first * c - second * s, second * c + first * s], -1)

        def silu_and_mul(x):
            gate, value = x.chunk(2, -1)
            return F.silu(gate) * value

        for op, run, inputs, length in [
            ("fused_add_rms_norm", add_norm, [x, residual, weight], n),
            ("rope", rope, [x, cos, sin], 2),
            ("silu_and_mul", silu_and_mul, [x], 1),
        ]:
            kinds = (
                [("library", "aten", run)]
                if dtype == F32
                else [("relaxed", "composed in dtype", run), ("legit", "f32, rounded once", wide_then_cast(run))]
            )
            if dtype == F32:
                kinds += [
                    ("cheat", "TF32 inputs", coarse(run, tf32)),
                    ("cheat", "bf16 inputs", coarse(run, through(torch.bfloat16))),
                ]
            else:
                kinds.append(("cheat", "rounded toward zero", truncated(run)))
            h.measure(op, f"{rows}x{n}", "normal", inputs, run, kinds, length)
