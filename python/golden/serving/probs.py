"""Renormalised probabilities, of FlashInfer (flashinfer.sampling) and SGLang.

Both keep what is not below a pivot, so that equal probabilities are kept or dropped together.
"""

import torch

from ..inputs import LAYOUTS, Gen, tensor
from ..record import Op
from .common import computed, require


def check(probs):
    """Refuses what is not f32 rows."""
    require(probs.dtype in (torch.float32, torch.float64) and probs.dim() == 2, "f32 [rows, n]")


def kept(probs, mask):
    """The probabilities of the mask over their sum, 0 elsewhere and in rows of zeros."""
    chosen = torch.where(mask, computed(probs), torch.zeros_like(probs))
    total = chosen.sum(-1, keepdim=True)
    return chosen / torch.where(total == 0, torch.ones_like(total), total)


def top_k_renorm_probs(probs, top_k):
    """Keeps the top_k largest and all that equal the last of them."""
    check(probs)
    require(1 <= top_k <= max(probs.shape[1], 1), "top_k in 1..=n")
    if not probs.numel():
        return probs.clone()
    pivot = probs.sort(-1, descending=True).values[:, top_k - 1 : top_k]
    return kept(probs, probs >= pivot)


def top_p_renorm_probs(probs, top_p):
    """Keeps each probability of which the sum of all larger ones is below top_p."""
    check(probs)
    require(0 < top_p <= 1, "top_p in (0, 1]")
    if not probs.numel():
        return probs.clone()
    larger = (probs.unsqueeze(-2) > probs.unsqueeze(-1)) * probs.double().unsqueeze(-2)
    return kept(probs, larger.sum(-1) < top_p)


def cases():
    """Every case of this file."""
    k_op, p_op = Op("top_k_renorm_probs", top_k_renorm_probs), Op("top_p_renorm_probs", top_p_renorm_probs)
    gen = Gen("renorm_probs")

    def rows(*shape):
        return torch.softmax(gen.normal(shape, "f32", 2), -1)

    for shape in ((3, 8), (1, 1), (2, 33)):
        for k in (1, 2, shape[1]):
            k_op.ok(probs=rows(*shape), top_k=min(k, shape[1]))
        for p in (0.1, 0.5, 0.9, 1.0):
            p_op.ok(probs=rows(*shape), top_p=p)
    ties = tensor([[0.25, 0.25, 0.25, 0.25], [0.5, 0.125, 0.125, 0.25], [1.0, 0.0, 0.0, 0.0], [0.375, 0.375, 0.125, 0.125]])
    for k in (1, 2, 3, 4):
        k_op.ok(probs=ties, top_k=k)
    for p in (0.3, 0.6, 0.8, 1.0):
        p_op.ok(probs=ties, top_p=p)
    for layout in LAYOUTS:
        k_op.ok(probs=layout(rows(3, 4)), top_k=2)
        p_op.ok(probs=layout(rows(3, 4)), top_p=0.7)
    zeros = tensor([[0.0, 0.0, 0.0], [0.5, 0.5, 0.0]])
    k_op.ok(probs=zeros, top_k=2)
    p_op.ok(probs=zeros, top_p=0.5)
    for op, given, wrong in ((k_op, {"top_k": 2}, {"top_k": 0}), (p_op, {"top_p": 0.5}, {"top_p": 0.0})):
        op.ok(probs=rows(0, 4), **given)
        op.bad(probs=rows(2, 4), **wrong)
        op.bad(probs=rows(2, 4).half(), **given)
        op.bad(probs=rows(4), **given)
    k_op.bad(probs=rows(2, 4), top_k=5)
    p_op.bad(probs=rows(2, 4), top_p=1.5)
