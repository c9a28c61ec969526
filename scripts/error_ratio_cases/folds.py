"""Norms, softmax, reductions, pooling."""

import torch
import torch.nn.functional as F

from .inputs import draw, odd, spread_out
from .variants import F32, FLOATS, coarse_inputs, plain, strict_settings, tf32, under


def one_pass(x, dims, eps):
    """Variance as E[x^2] - E[x]^2."""
    mean = x.mean(dims, keepdim=True)
    variance = (x * x).mean(dims, keepdim=True) - mean * mean
    return (x - mean) * torch.rsqrt(variance + eps)


def rms_by_parts(x, w):
    """As many models write it: rounded to the dtype before the weight."""
    wide = x.float()
    return w * (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6)).to(x.dtype)


def norms(h):
    strict_settings(h)
    distributions = ["normal", "shifted", "heavy", "large", "uniform", "constant"]
    for dtype in FLOATS:
        for rows, n in [(512, 1024), (64, 8192), (33, 127), (2048, 64)]:
            rows, n = h.size(rows, n)
            weight, bias = draw(h, "normal", (n,), dtype, 1.0, 0.25), draw(h, "normal", (n,), dtype, 0.0, 0.5)
            for distribution in distributions:
                x = draw(h, distribution, (rows, n), dtype, large=1e3 if dtype == torch.float16 else 1e15)

                def layer(x, w, b):
                    return F.layer_norm(x, x.shape[-1:], w, b, 1e-5)

                variants = plain(layer, dtype)
                if dtype == F32:
                    variants.append(("cheat", "one-pass variance", lambda x, w, b: one_pass(x, -1, 1e-5) * w + b))
                else:
                    variants.append(
                        ("cheat", "normalised in dtype", lambda x, w, b: F.layer_norm(x, x.shape[-1:]) * w + b)
                    )
                h.measure("layer_norm", f"{rows}x{n}", distribution, [x, weight, bias], layer, variants, n)

                def rms(x, w):
                    return F.rms_norm(x, x.shape[-1:], w, 1e-6)

                variants = plain(rms, dtype)
                if dtype != F32:
                    variants.append(("relaxed", "rounded before the weight", rms_by_parts))
                h.measure("rms_norm", f"{rows}x{n}", distribution, [x, weight], rms, variants, n)
        image_norms(h, dtype, distributions)


def image_norms(h, dtype, distributions):
    for shape, groups in [((8, 64, 28, 28), 8), ((4, 32, 17, 17), 32)]:
        weight, bias = draw(h, "normal", shape[1:2], dtype, 1.0, 0.25), draw(h, "normal", shape[1:2], dtype, 0.0, 0.5)
        label = "x".join(map(str, shape))
        for distribution in distributions:
            x = draw(h, distribution, shape, dtype, large=1e3 if dtype == torch.float16 else 1e15)

            def group(x, w, b):
                return F.group_norm(x, groups, w, b, 1e-5)

            pixels = shape[2] * shape[3]
            h.measure(
                "group_norm", label, distribution, [x, weight, bias], group, plain(group, dtype), shape[1] // groups * pixels
            )

            def batch(x, w, b):
                return F.batch_norm(x, None, None, w, b, True, 0.1, 1e-5)

            variants = plain(batch, dtype)
            variants.append(("library", "without cuDNN", under(batch, cudnn=False)))
            if dtype != F32:
                # The usual mix: statistics' parameters in f32.
                variants.append(("library", "f32 weights", lambda x, w, b: batch(x, w.float(), b.float())))
            else:

                def naive(x, w, b):
                    return one_pass(x, (0, 2, 3), 1e-5) * w[:, None, None] + b[:, None, None]

                variants.append(("cheat", "one-pass variance", naive))
            h.measure("batch_norm", label, distribution, [x, weight, bias], batch, variants, shape[0] * pixels)


# Softmax and reductions


def exp_rounded(x):
    e = tf32(torch.exp(x - x.amax(-1, keepdim=True)))
    return e / e.sum(-1, keepdim=True)


def row_scale(x):
    """Largest |x| of each row, at least 1."""
    return x.abs().nan_to_num(0.0, 0.0, 0.0).amax(-1, keepdim=True).clamp(min=1.0)


def softmaxes(h):
    for dtype in FLOATS:
        for rows, n in [(256, 1024), (32, 32000), (1024, 65)]:
            rows, n = h.size(rows, n)
            for distribution in ["normal", "normal x4", "softmax shifted", "heavy", "large", "uniform", "constant"]:
                x = draw(h, distribution, (rows, n), dtype, large=1e4)
                label = f"{rows}x{n}"

                def softmax(x):
                    return torch.softmax(x, -1)

                variants = plain(softmax, dtype)
                if dtype == F32:
                    variants.append(("cheat", "exp rounded to 11 bits", exp_rounded))
                    variants.append(
                        ("cheat", "without the maximum", lambda x: torch.exp(x) / torch.exp(x).sum(-1, keepdim=True))
                    )
                else:
                    variants.append(
                        (
                            "cheat",
                            "exp and sum in dtype",
                            lambda x: (
                                torch.exp(x - x.amax(-1, keepdim=True))
                                / torch.exp(x - x.amax(-1, keepdim=True)).sum(-1, keepdim=True)
                            ),
                        )
                    )
                h.measure("softmax", label, distribution, [x], softmax, variants, n)

                def log_softmax(x):
                    return torch.log_softmax(x, -1)

                h.measure("log_softmax", label, distribution, [x], log_softmax, plain(log_softmax, dtype), n, hint=row_scale)

                def logsumexp(x):
                    return torch.logsumexp(x, -1)

                h.measure(
                    "logsumexp",
                    label,
                    distribution,
                    [x],
                    logsumexp,
                    plain(logsumexp, dtype),
                    n,
                    hint=lambda x: row_scale(x).squeeze(-1),
                )
        for tokens, experts, k in [(1024, 64, 8), (512, 256, 8)]:
            x = draw(h, "normal", (tokens, experts), dtype)

            def route(x):
                weights = torch.softmax(x.to(torch.promote_types(x.dtype, F32)), -1).topk(k, -1).values
                return weights / weights.sum(-1, keepdim=True)

            variants = [("library", "aten", route)]
            if dtype == F32:
                variants += coarse_inputs(route)
            h.measure("topk_softmax", f"{tokens}x{experts} k{k}", "normal", [x], route, variants, experts)


def chunked(x, parts):
    """A sum whose partial sums are kept in the dtype."""
    return torch.stack([part.sum(-1) for part in x.chunk(parts, -1)]).sum(0)


def reductions(h):
    functions = {
        "sum": lambda x: x.sum(-1),
        "mean": lambda x: x.mean(-1),
        "var": lambda x: x.var(-1),
        "std": lambda x: x.std(-1),
        "vector_norm": lambda x: torch.linalg.vector_norm(x, 2, -1),
        "cumsum": lambda x: x.cumsum(-1),
        "logcumsumexp": lambda x: x.logcumsumexp(-1),
    }
    for dtype in FLOATS:
        for rows, n in [(256, 1024), (16, 65536), (777, 127)]:
            rows, n = h.size(rows, n)
            for distribution in ["normal", "uniform", "shifted", "heavy", "large", "exact"]:
                for op, run in functions.items():
                    reduction(h, op, run, dtype, distribution, rows, n)
            x = draw(h, "normal", (rows, min(n, 1024)), dtype, 1.0, 0.02)
            for op, run in {"prod": lambda x: x.prod(-1), "cumprod": lambda x: x.cumprod(-1)}.items():
                h.measure(op, f"{rows}x{n}", "near 1", [x], run, plain(run, dtype), x.shape[-1])
        x = draw(h, "normal", h.size(1024, 4096), dtype)

        def everything(x):
            return x.sum().reshape(1)

        h.measure("sum", "all of 4M", "normal", [x], everything, plain(everything, dtype), x.numel())


def reduction(h, op, run, dtype, distribution, rows, n):
    if distribution == "exact" and (op not in ("sum", "mean", "cumsum") or op == "mean" and n & (n - 1)):
        return
    large = {"var": 1e2, "std": 1e2, "vector_norm": 1e2, "logcumsumexp": 1e4}.get(op, 2e3)
    if dtype != torch.float16 and op != "logcumsumexp":
        large = 1e15
    x = draw(h, distribution, (rows, n), dtype, large=large)
    if distribution == "exact":
        # Few large integers, not many small ones: a coarser type must not hold them.
        limit, top = {torch.float16: (2047, 60000), torch.bfloat16: (255, 2**24), F32: (4095, 2**24)}[dtype]
        x = odd(h, (rows, n), limit, dtype) * spread_out((rows, n), min(top // limit, n), h.device).to(dtype)
    variants = plain(run, dtype)
    if op == "sum" and dtype != F32:
        variants += [
            ("cheat", f"{parts} partial sums in dtype", lambda x, parts=parts: chunked(x, parts)) for parts in (2, 8)
        ]
    if op == "var" and dtype == F32:
        variants.append(("cheat", "one-pass", lambda x: ((x * x).mean(-1) - x.mean(-1).square()) * n / (n - 1)))
    # log-sum-exp starts at x[0]: its scale is that of the logits.
    hint = (lambda x: row_scale(x).expand_as(x)) if op == "logcumsumexp" else None
    h.measure(op, f"{rows}x{n}", distribution, [x], run, variants, n, hint=hint)


def pools(h):
    for dtype in FLOATS:
        x = draw(h, "normal", (1, 2, 56, 56) if h.tiny else (4, 32, 56, 56), dtype)
        for name, run, length in [
            ("avg_pool2d", lambda x: F.avg_pool2d(x, 3, 2, 1), 9),
            ("avg_pool2d", lambda x: F.avg_pool2d(x, 7), 49),
            ("adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, 1), 56 * 56),
            ("adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, 5), 12 * 12),
        ]:
            h.measure(name, f"4x32x56x56 L{length}", "normal", [x], run, plain(run, dtype), length)
        for extent, wanted, align in [
            (28, 56, False),
            (56, 224, False),
            (37, 100, False),
            (56, 133, False),
            (56, 131, True),
            (300, 1000, False),
            (300, 1000, True),
            (224, 97, False),
        ]:
            if h.tiny and extent > 60:
                continue
            for distribution in ["normal", "shifted"]:
                x = draw(h, distribution, (2, 4, extent, extent), dtype)

                def run(x):
                    return F.interpolate(x, (wanted, wanted), mode="bilinear", align_corners=align)

                hint = bilinear_hint(wanted)
                h.measure(
                    "upsample_bilinear2d",
                    f"{extent} to {wanted}{' aligned' if align else ''}",
                    distribution,
                    [x],
                    run,
                    plain(run, dtype),
                    4,
                    hint=hint,
                )


def bilinear_hint(wanted):
    """Largest source coordinate times |x|: what the rounding of the coordinate moves."""
    return lambda x: (
        x.abs().amax() * torch.full((1, 1, wanted, wanted), float(x.shape[-1]), dtype=x.dtype, device=x.device)
    )
