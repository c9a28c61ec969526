"""Losses and the norm-free layer of Liger-Kernel (src/liger_kernel/ops: jsd, tvd, dyt, fused_linear_cross_entropy)."""

import torch
from torch.nn import functional

from ..inputs import LAYOUTS, NAN, Gen, tensor
from ..record import Op
from .common import computed, one_float_type, require


def weights(rows, labels, ignore_index):
    """1 for each row that counts, and their number."""
    require(rows.dim() == 2, "[rows, n]")
    if labels is None:
        return torch.ones(rows.shape[0], 1, dtype=torch.get_default_dtype()), rows.shape[0]
    require(tuple(labels.shape) == (rows.shape[0],) and labels.dtype == torch.int64, "labels are i64 [rows]")
    counts = (labels != ignore_index).unsqueeze(-1)
    return computed(counts), int(counts.sum())


def jsd(input, target, shift_labels=None, beta=0.5, ignore_index=-100):
    """The generalised Jensen-Shannon divergence of exp(target) and exp(input), a mean over the rows that count."""
    one_float_type(input, target)
    require(input.shape == target.shape and 0 <= beta <= 1, "two tensors of one shape")
    of, count = weights(input, shift_labels, ignore_index)
    x, y = computed(input), computed(target)
    if beta == 0:
        terms = y.exp() * (y - x)
    elif beta == 1:
        terms = x.exp() * (x - y)
    else:
        p, q = beta * y.exp(), (1 - beta) * x.exp()
        terms = p * y + q * x - (p + q) * (p + q).log()
    total = torch.where(of > 0, terms, torch.zeros_like(terms)).sum()
    return (total / count if count else total).to(input.dtype)


def tvd(p, q, shift_labels=None, reduction="batchmean", ignore_index=-100):
    """|p - q| / 2 of the rows that count; `batchmean` divides the sum by their number, `mean` by that of their elements."""
    one_float_type(p, q)
    require(p.shape == q.shape, "two tensors of one shape")
    of, count = weights(p, shift_labels, ignore_index)
    terms = torch.where(of > 0, (computed(p) - computed(q)).abs() / 2, torch.zeros((), dtype=torch.get_default_dtype()))
    if reduction == "none":
        return terms
    require(reduction in ("batchmean", "sum", "mean"), "a reduction")
    over = {"batchmean": count, "sum": 1, "mean": count * p.shape[1]}[reduction]
    return terms.sum() / over if over else terms.sum()


def dyt(x, alpha, gamma, beta=None):
    """gamma * tanh(alpha * x) + beta."""
    one_float_type(x, alpha, gamma, *([] if beta is None else [beta]))
    require(tuple(alpha.shape) == (1,) and x.dim() and tuple(gamma.shape) == tuple(x.shape[-1:]), "alpha [1], gamma [n]")
    require(beta is None or beta.shape == gamma.shape, "beta [n]")
    out = computed(gamma) * torch.tanh(computed(alpha) * computed(x))
    return (out if beta is None else out + computed(beta)).to(x.dtype)


def fused_linear_cross_entropy(
    input, weight, target, bias=None, ignore_index=-100, label_smoothing=0.0, reduction="mean"
):
    """cross_entropy(input @ weight^T + bias, target) with logits in the type computed in."""
    one_float_type(input, weight, *([] if bias is None else [bias]))
    require(input.dim() == 2 and weight.dim() == 2 and input.shape[1] == weight.shape[1], "[rows, h] and [v, h]")
    require(tuple(target.shape) == (input.shape[0],) and target.dtype == torch.int64, "target is i64 [rows]")
    require(bias is None or tuple(bias.shape) == (weight.shape[0],), "bias [v]")
    require(reduction in ("mean", "sum"), "a reduction")
    logits = computed(input) @ computed(weight).t()
    if bias is not None:
        logits = logits + computed(bias)
    if not (target != ignore_index).any():
        return logits.new_zeros(())
    return functional.cross_entropy(
        logits, target, ignore_index=ignore_index, label_smoothing=label_smoothing, reduction=reduction
    )


def divergences():
    """jsd and tvd."""
    op, gen = Op("jsd", jsd), Gen("jsd")
    for dtype in ("f32", "f16", "bf16"):
        for beta in (0.5, 0.0, 1.0, 0.1):
            rows = [torch.log_softmax(gen.normal((3, 8)), -1).to(gen.normal((), dtype).dtype) for _ in range(2)]
            op.ok(input=rows[0], target=rows[1], beta=beta)
            op.ok(input=rows[0], target=rows[1], beta=beta, shift_labels=tensor([1.0, -100.0, 3.0]).long())
    rows = torch.log_softmax(gen.normal((4, 3)), -1)
    op.ok(input=rows, target=rows)
    op.ok(input=rows, target=rows.flip(0), shift_labels=tensor([7.0, 7.0, 7.0, 7.0]).long(), ignore_index=7)
    op.ok(input=rows, target=rows.flip(0), shift_labels=tensor([7.0, 1.0, 2.0, 7.0]).long(), ignore_index=7)
    op.ok(input=rows[:1, :1], target=rows[1:2, :1])
    for layout in LAYOUTS:
        op.ok(input=layout(rows), target=layout(rows.flip(0)))
    op.bad(input=rows, target=rows[:2])
    op.bad(input=rows, target=rows.half())
    op.bad(input=rows, target=rows, beta=1.5)
    op.bad(input=rows, target=rows, shift_labels=tensor([1.0, 2.0]).long())
    op.bad(input=rows[0], target=rows[0])

    op, gen = Op("tvd", tvd), Gen("tvd")
    for dtype in ("f32", "f16", "bf16"):
        for reduction in ("batchmean", "sum", "mean", "none"):
            p, q = (torch.softmax(gen.normal((3, 8)), -1).to(gen.normal((), dtype).dtype) for _ in range(2))
            op.ok(p=p, q=q, reduction=reduction)
            op.ok(p=p, q=q, reduction=reduction, shift_labels=tensor([1.0, -100.0, 3.0]).long())
    op.ok(p=p, q=q, shift_labels=tensor([5.0, 5.0, 5.0]).long(), ignore_index=5)
    op.ok(p=tensor([[NAN, 1.0], [0.5, 0.5]]), q=tensor([[0.5, 0.5], [0.5, 0.5]]), reduction="none")
    op.ok(
        p=tensor([[NAN, 1.0], [0.5, 0.25]]),
        q=tensor([[0.5, 0.5], [0.5, 0.5]]),
        shift_labels=tensor([-100.0, 1.0]).long(),
    )
    for layout in LAYOUTS:
        op.ok(p=layout(gen.uniform((3, 4))), q=layout(gen.uniform((3, 4))))
    op.bad(p=gen.uniform((3, 4)), q=gen.uniform((3, 5)))
    op.bad(p=gen.uniform((3, 4)), q=gen.uniform((3, 4)), reduction="other")
    op.bad(p=gen.uniform((3, 4)), q=gen.uniform((3, 4), "f16"))
    op.bad(p=gen.uniform((3, 4)), q=gen.uniform((3, 4)), shift_labels=tensor([1.0]).long())


def layers():
    """dyt and fused_linear_cross_entropy."""
    op, gen = Op("dyt", dyt), Gen("dyt")
    for dtype in ("f32", "f16", "bf16"):
        for shape in ((3, 8), (2, 2, 5), (4,)):
            args = {"x": gen.normal(shape, dtype), "alpha": gen.normal((1,), dtype), "gamma": gen.normal(shape[-1:], dtype)}
            op.ok(**args)
            op.ok(**args, beta=gen.normal(shape[-1:], dtype))
    args = {"alpha": tensor([0.5]), "gamma": gen.normal((4,)), "beta": gen.normal((4,))}
    op.ok(**args, x=tensor([[NAN, 1e30, -1e30, 0.0], [float("inf"), -float("inf"), -0.0, 1.0]]))
    op.ok(**args, x=gen.normal((0, 4)))
    for layout in LAYOUTS:
        op.ok(**args, x=layout(gen.normal((3, 4))))
    op.bad(**{**args, "alpha": tensor(0.5)}, x=gen.normal((3, 4)))
    op.bad(**args, x=gen.normal((3, 5)))
    op.bad(**args, x=gen.normal((3, 4), "f16"))

    op, gen = Op("fused_linear_cross_entropy", fused_linear_cross_entropy), Gen("fused_linear_cross_entropy")
    for dtype in ("f32", "f16", "bf16"):
        for rows, hidden, classes in ((3, 8, 5), (1, 1, 1), (4, 3, 9)):
            args = {
                "input": gen.normal((rows, hidden), dtype),
                "weight": gen.normal((classes, hidden), dtype),
                "target": gen.ints((rows,), "i64", 0, classes - 1),
            }
            op.ok(**args)
            op.ok(**args, bias=gen.normal((classes,), dtype), reduction="sum", label_smoothing=0.1)
            op.ok(**{**args, "target": torch.where(args["target"] == 0, -100, args["target"])})
    args = {"input": gen.normal((3, 4)), "weight": gen.normal((5, 4)), "target": tensor([2.0, 2.0, 0.0]).long()}
    op.ok(**args, ignore_index=2)
    op.ok(**{**args, "target": tensor([1.0, 1.0, 1.0]).long()}, ignore_index=1)
    op.ok(**{**args, "input": gen.normal((3, 4), "f32", 50)})
    for layout in LAYOUTS:
        op.ok(**{**args, "input": layout(gen.normal((3, 4))), "weight": layout(gen.normal((5, 4)))})
    op.bad(**{**args, "weight": gen.normal((5, 3))})
    op.bad(**{**args, "target": tensor([1.0]).long()})
    op.bad(**args, reduction="none")
    op.bad(**args, bias=gen.normal((4,)))
    op.bad(**{**args, "target": tensor([5.0, 0.0, 0.0]).long()}, note="values")


def cases():
    """Every case of this file."""
    divergences()
    layers()
