"""Losses and distances."""

import torch
import torch.nn.functional as F

from .inputs import draw, index
from .variants import F32, FLOATS, plain


def row_scale(x):
    return x.abs().amax(-1).clamp(min=1.0)


def losses(h):
    for dtype in FLOATS:
        for distribution in ["normal", "uniform", "heavy", "shifted"]:
            shape = h.size(512, 1000)
            x, t = draw(h, distribution, shape, dtype), draw(h, "normal" if distribution == "heavy" else distribution, shape, dtype)
            label = "x".join(map(str, shape))
            probability = torch.softmax(draw(h, "normal", shape, F32), -1).to(dtype)
            log_probability = torch.log_softmax(draw(h, "normal", shape, F32), -1).to(dtype)
            unit = draw(h, "uniform", shape, dtype)
            classes = index(h, shape[1], shape[:1])
            for reduction, length in [("none", 1), ("mean", x.numel())]:

                def loss(op, inputs, run, hint=None, length=length, reference=None):
                    def shaped(*args):
                        return run(*args).reshape(-1)

                    h.measure(
                        op,
                        f"{label} {reduction}",
                        distribution,
                        inputs,
                        reference or shaped,
                        plain(shaped, dtype),
                        length,
                        hint=hint,
                    )

                loss("mse_loss", [x, t], lambda a, b: F.mse_loss(a, b, reduction=reduction))
                loss("l1_loss", [x, t], lambda a, b: F.l1_loss(a, b, reduction=reduction))
                loss("huber_loss", [x, t], lambda a, b: F.huber_loss(a, b, reduction=reduction, delta=0.7))
                loss("smooth_l1_loss", [x, t], lambda a, b: F.smooth_l1_loss(a, b, reduction=reduction))
                loss("kl_div", [log_probability, probability], lambda a, b: F.kl_div(a, b, reduction=reduction))
                loss(
                    "bce_with_logits",
                    [x, unit],
                    lambda a, b: F.binary_cross_entropy_with_logits(a, b, reduction=reduction),
                    hint=bce_hint(reduction),
                )
                loss(
                    "binary_cross_entropy",
                    [probability, unit],
                    lambda a, b: F.binary_cross_entropy(a, b, reduction=reduction),
                    reference=bce_reference(reduction),
                )
                hint = row_scale if reduction == "none" else lambda x, c: row_scale(x).mean().reshape(1)
                loss(
                    "cross_entropy",
                    [x, classes],
                    lambda a, c: F.cross_entropy(a, c, reduction=reduction),
                    hint=(lambda a, c, f=hint: f(a)) if reduction == "none" else hint,
                    length=max(shape),
                )
            distances(h, dtype, distribution, x, t, label)


def bce_reference(reduction):
    """PyTorch's own refuses a target that a perturbation moved over 1."""

    def run(p, t):
        terms = -(t * p.log().clamp(min=-100.0) + (1.0 - t) * (-p).log1p().clamp(min=-100.0))
        return (terms if reduction == "none" else terms.mean()).reshape(-1)

    return run


def bce_hint(reduction):
    """The terms x(1 - t) and log(1 + exp(-|x|)) cancel."""

    def hint(x, t):
        scale = x.abs().clamp(min=1.0)
        return scale.reshape(-1) if reduction == "none" else scale.mean().reshape(1)

    return hint


def distances(h, dtype, distribution, x, t, label):
    n = x.shape[-1]
    third = draw(h, "normal", x.shape, dtype)
    cosine = lambda a, b: F.cosine_similarity(a, b, -1, 1e-8)
    h.measure("cosine_similarity", label, distribution, [x, t], cosine, plain(cosine, dtype), n)
    triplet = lambda a, b, c: F.triplet_margin_loss(a, b, c, reduction="none", margin=5.0)
    # The two distances cancel.
    h.measure(
        "triplet_margin_loss",
        label,
        distribution,
        [x, t, third],
        triplet,
        plain(triplet, dtype),
        n,
        hint=lambda a, b, c: torch.maximum((a - b).norm(dim=-1), (a - c).norm(dim=-1)),
    )
    normalize = lambda a: F.normalize(a, dim=-1)
    h.measure("normalize", label, distribution, [x], normalize, plain(normalize, dtype), n)
