"""Losses. Reduction 0 is none, 1 the mean, 2 the sum."""

import torch

from ..inputs import FLOATS, INF, LAYOUTS, NAN, Gen, channels_last, tensor
from ..record import Op, aten


def classes(gen, shape, n):
    """Class numbers below n."""
    return gen.ints(shape, "i64", 0, n - 1)


def nll():
    """nll_loss (the forward op: the loss and the total weight)."""
    op, gen = Op("nll_loss", aten("nll_loss_forward")), Gen("nll_loss")

    def scores(shape, dtype="f32"):
        return torch.log_softmax(gen.normal(shape, "f64"), -1).to(gen.normal((), dtype).dtype)

    for reduction in (0, 1, 2):
        rest = {"reduction": reduction, "ignore_index": -100}
        for dtype in ("f32", "f64", "bf16", "f16"):
            op.ok(self=scores((4, 3), dtype), target=classes(gen, (4,), 3), weight=None, **rest)
        op.ok(self=scores((4, 3)), target=classes(gen, (4,), 3), weight=gen.uniform((3,)), **rest)
        op.ok(
            self=scores((4, 3)),
            target=tensor([1, 0, 1, 2], "i64"),
            weight=gen.uniform((3,)),
            **{**rest, "ignore_index": 1}
        )
        op.ok(self=scores((4, 3)), target=tensor([-100, 0, -100, 2], "i64"), weight=None, **rest)
        op.ok(self=scores((2, 3)), target=tensor([-100, -100], "i64"), weight=None, **rest)
        op.ok(self=scores((3,)), target=tensor(2, "i64"), weight=gen.uniform((3,)), **rest)
        op.ok(self=scores((0, 3)), target=classes(gen, (0,), 3), weight=None, **rest)
        op.ok(self=tensor([[NAN, -1.0], [-INF, -2.0]]), target=tensor([1, 0], "i64"), weight=None, **rest)
    for layout in LAYOUTS:
        op.ok(
            self=layout(scores((4, 3))),
            target=layout(classes(gen, (4,), 3)),
            weight=None,
            reduction=1,
            ignore_index=-100,
        )
    rest = {"weight": None, "reduction": 1, "ignore_index": -100}
    op.bad(self=scores((4, 3)), target=tensor([0, 1, 2, 3], "i64"), note="values", **rest)
    op.bad(self=scores((4, 3)), target=classes(gen, (3,), 3), **rest)
    op.bad(self=scores((4, 3)), target=tensor([0.0, 1.0, 2.0, 0.0]), **rest)
    op.bad(self=scores((4, 3)), target=classes(gen, (4,), 3), **{**rest, "weight": gen.uniform((2,))})


def images():
    """nll_loss2d (the forward op): a class per place of an image."""
    op, gen = Op("nll_loss2d", aten("nll_loss2d_forward"), once=True), Gen("nll_loss2d")

    def scores(shape, dtype="f32"):
        return torch.log_softmax(gen.normal(shape, "f64"), 1).to(gen.normal((), dtype).dtype)

    def both(shape, dtype="f32", weight=False, ignore=-100, layout=lambda t: t, **rest):
        n, c, h, w = shape
        given = {"weight": layout(gen.uniform((c,), dtype, 0.2, 2.0)) if weight else None, "ignore_index": ignore}
        op.ok(self=layout(scores(shape, dtype)), target=layout(classes(gen, (n, h, w), c)), **given, **rest)

    for reduction in (0, 1, 2):
        for dtype in FLOATS:
            both((2, 3, 4, 5), dtype, reduction=reduction)
            both((2, 5, 3, 2), dtype, weight=True, ignore=1, reduction=reduction)
        both((1, 1, 1, 1), reduction=reduction)
        both((3, 7, 1, 2), weight=True, reduction=reduction)
        both((0, 3, 4, 5), reduction=reduction)
        both((2, 3, 0, 5), reduction=reduction)
        rest = {"weight": None, "reduction": reduction, "ignore_index": -100}
        op.ok(self=scores((2, 3, 1, 2)), target=tensor([[[-100, 0]], [[2, -100]]], "i64"), **rest)
        op.ok(self=scores((1, 3, 1, 2)), target=tensor([[[-100, -100]]], "i64"), **rest)
        special = tensor([[[[NAN, -1.0]], [[-INF, INF]]]])
        op.ok(self=special, target=tensor([[[1, 0]]], "i64"), **rest)
        op.ok(self=special, target=tensor([[[0, 1]]], "i64"), **rest)
        op.ok(self=special, target=tensor([[[1, 0]]], "i64"), **{**rest, "weight": tensor([1.0, 0.0])})
    for layout in (*LAYOUTS, channels_last):
        x, y = scores((2, 3, 4, 5)), classes(gen, (2, 4, 5), 3)
        op.ok(self=layout(x), target=y if layout is channels_last else layout(y), weight=None, reduction=1, ignore_index=-100)
    rest = {"weight": None, "reduction": 1, "ignore_index": -100}
    op.bad(self=scores((2, 3, 1, 1)), target=tensor([[[0]], [[3]]], "i64"), note="values", **rest)
    op.bad(self=scores((2, 3, 1, 1)), target=tensor([[[0]], [[-1]]], "i64"), note="values", **rest)
    op.bad(self=scores((2, 3, 4)), target=classes(gen, (2, 4), 3), **rest)
    op.bad(self=scores((2, 3)), target=classes(gen, (2,), 3), **rest)
    op.bad(self=scores((2, 3, 4, 5)), target=classes(gen, (2, 5, 4), 3), **rest)
    op.bad(self=scores((2, 3, 4, 5)), target=classes(gen, (40,), 3), **rest)
    op.bad(self=scores((2, 3, 1, 1)), target=gen.ints((2, 1, 1), "u8", 0, 2), **rest)
    op.bad(self=scores((2, 3, 1, 1)), target=gen.ints((2, 1, 1), "i32", 0, 2), **rest)
    op.bad(self=scores((2, 3, 1, 1)), target=tensor([[[0.0]], [[1.0]]]), **rest)
    op.bad(self=scores((2, 3, 1, 1)), target=classes(gen, (2, 1, 1), 3), **{**rest, "weight": gen.uniform((2,))})


def cross_entropy():
    """cross_entropy_loss with class numbers and with probabilities."""
    op, gen = Op("cross_entropy_loss"), Gen("cross_entropy_loss")
    for reduction in (0, 1, 2):
        for dtype in FLOATS:
            op.ok(self=gen.normal((4, 3), dtype), target=classes(gen, (4,), 3), reduction=reduction)
        x, y = gen.normal((4, 3)), classes(gen, (4,), 3)
        weight = gen.uniform((3,), "f32", 0.2, 2)
        op.ok(self=x, target=y, weight=weight, reduction=reduction)
        op.ok(self=x, target=y, label_smoothing=0.1, reduction=reduction)
        op.ok(self=x, target=y, weight=weight, label_smoothing=0.3, reduction=reduction)
        ignored = tensor([1, -100, 0, 2], "i64")
        op.ok(self=x, target=ignored, reduction=reduction)
        op.ok(self=x, target=ignored, weight=weight, label_smoothing=0.2, reduction=reduction)
        op.ok(self=x, target=y, ignore_index=int(y[0]), reduction=reduction)
        op.ok(self=gen.normal((2, 3, 4)), target=classes(gen, (2, 4), 3), weight=weight, reduction=reduction)
        op.ok(
            self=gen.normal((1, 3, 2, 2)), target=classes(gen, (1, 2, 2), 3), label_smoothing=0.1, reduction=reduction
        )
        op.ok(self=gen.normal((3,)), target=tensor(1, "i64"), weight=weight, reduction=reduction)
        odds = torch.softmax(gen.normal((4, 3)), -1)
        op.ok(self=x, target=odds, reduction=reduction)
        op.ok(self=x, target=odds, weight=weight, label_smoothing=0.25, reduction=reduction)
        op.ok(self=gen.normal((2, 3, 2)), target=torch.softmax(gen.normal((2, 3, 2)), 1), reduction=reduction)
        op.ok(self=gen.normal((0, 3)), target=classes(gen, (0,), 3), reduction=reduction)
        op.ok(
            self=tensor([[NAN, 1.0], [INF, 1.0], [-INF, 1.0], [1000.0, -1000.0]]),
            target=tensor([0, 1, 0, 1], "i64"),
            reduction=reduction,
        )
    op.ok(self=x, target=tensor([-100] * 4, "i64"))
    for layout in LAYOUTS:
        op.ok(self=layout(gen.normal((4, 3))), target=layout(classes(gen, (4,), 3)))
    op.bad(self=x, target=tensor([0, 1, 2, 3], "i64"), note="values")
    op.bad(self=x, target=classes(gen, (3,), 3))
    op.bad(self=x, target=y, weight=gen.uniform((4,)))
    op.bad(self=x, target=y, label_smoothing=1.5)
    op.bad(self=x, target=gen.normal((4, 2)))


def pair(op, gen, values, targets, options=({},)):
    """The cases of a loss of two tensors of one shape."""
    for option in options:
        for reduction in (0, 1, 2):
            for dtype in FLOATS:
                op.ok(self=values((3, 4), dtype), target=targets((3, 4), dtype), reduction=reduction, **option)
    for reduction in (0, 1, 2):
        for shape in ((), (0, 3), (2, 1, 3)):
            op.ok(self=values(shape, "f32"), target=targets(shape, "f32"), reduction=reduction)
    for layout in LAYOUTS:
        op.ok(self=layout(values((3, 2, 2), "f32")), target=layout(targets((3, 2, 2), "f32")))
        op.ok(self=layout(values((3, 2, 2), "f32")), target=targets((3, 2, 2), "f32"), reduction=0)


def broadcasting(op, gen, values, targets):
    """Operands of different shapes and dtypes, for the losses that allow them."""
    for first, second in (((3, 4), (4,)), ((3, 1), (1, 4)), ((), (3,))):
        for reduction in (0, 1):
            op.ok(self=values(first, "f32"), target=targets(second, "f32"), reduction=reduction)
    op.ok(self=values((5,), "f16"), target=targets((5,), "f32"), reduction=0)
    op.bad(self=values((3,), "f32"), target=targets((4,), "f32"))


def distances():
    """mse, l1, smooth_l1, huber."""
    special = tensor([NAN, 1.0, INF, -INF, INF, -0.0, 0.0, 3e38])
    other = tensor([1.0, NAN, INF, INF, 1.0, 0.0, -0.0, -3e38])
    for name, options in (
        ("mse_loss", ({},)),
        ("l1_loss", ({},)),
        ("smooth_l1_loss", ({}, {"beta": 0.5}, {"beta": 0.0})),
        ("huber_loss", ({}, {"delta": 0.5}, {"delta": 2.0})),
    ):
        op, gen = Op(name), Gen(name)
        pair(op, gen, gen.normal, gen.normal, options)
        broadcasting(op, gen, gen.normal, gen.normal)
        op.ok(self=special, target=other, reduction=0)
        op.ok(self=special, target=other)
        op.ok(self=tensor([1.0, 2.0, -1.0]), target=tensor([0.0, 0.5, 0.5]), reduction=0)
    op.bad(self=gen.normal((3,)), target=gen.normal((3,)), delta=0.0)


def divergences():
    """kl_div and the binary cross entropies."""
    op, gen = Op("kl_div", once=True), Gen("kl_div")

    def logs(shape, dtype):
        return -gen.uniform(shape, dtype, 0.1, 3)

    pair(op, gen, logs, lambda shape, dtype: gen.uniform(shape, dtype, 0.01, 1))
    pair(op, gen, logs, logs, ({"log_target": True},))
    op.ok(self=tensor([-1.0, -INF, NAN, -1.0, -INF, -2.0]), target=tensor([0.0, 0.0, 0.0, NAN, 0.5, -0.5]), reduction=0)
    op.ok(self=tensor([-1.0, -INF, NAN]), target=tensor([-INF, -INF, -1.0]), reduction=0, log_target=True)
    op.ok(self=logs((3, 4), "f32"), target=gen.uniform((4,)), reduction=0)
    op.bad(self=logs((3, 4), "f32"), target=gen.uniform((3,)))

    op, gen = Op("binary_cross_entropy"), Gen("binary_cross_entropy")
    pair(op, gen, lambda shape, dtype: gen.uniform(shape, dtype, 0.05, 0.95), gen.uniform)
    for reduction in (0, 1, 2):
        op.ok(self=gen.uniform((2, 3)), target=gen.uniform((2, 3)), weight=gen.uniform((2, 3)), reduction=reduction)
        op.ok(self=gen.uniform((2, 3)), target=gen.uniform((2, 3)), weight=gen.uniform((3,)), reduction=reduction)
    op.ok(self=tensor([0.0, 1.0, 0.0, 1.0, 0.5]), target=tensor([0.0, 1.0, 1.0, 0.0, 0.25]), reduction=0)
    op.bad(self=tensor([0.5, 0.5]), target=tensor([0.0, 2.0]), note="values")
    op.bad(self=tensor([1.5, 0.5]), target=tensor([0.0, 1.0]), note="values")
    op.bad(self=tensor([-0.1, 0.5]), target=tensor([0.0, 1.0]), note="values")
    op.bad(self=gen.uniform((3,)), target=gen.uniform((2,)))

    op, gen = Op("binary_cross_entropy_with_logits"), Gen("binary_cross_entropy_with_logits")
    pair(op, gen, gen.normal, gen.uniform)
    for reduction in (0, 1, 2):
        op.ok(self=gen.normal((2, 3)), target=gen.uniform((2, 3)), weight=gen.uniform((3,)), reduction=reduction)
        op.ok(
            self=gen.normal((2, 3)),
            target=gen.uniform((2, 3)),
            pos_weight=gen.uniform((3,), "f32", 0.5, 3),
            reduction=reduction,
        )
        op.ok(
            self=gen.normal((2, 3)),
            target=gen.uniform((2, 3)),
            weight=gen.uniform((2, 1)),
            pos_weight=gen.uniform((2, 3)),
            reduction=reduction,
        )
    op.ok(
        self=tensor([100.0, -100.0, 100.0, INF, -INF, NAN, 0.0]),
        target=tensor([0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 2.0]),
        reduction=0,
    )
    op.bad(self=gen.normal((3,)), target=gen.uniform((2,)))


def signs(gen):
    """A function that draws +1 and -1."""
    return lambda shape, dtype="f32": gen.mask(shape).to(gen.normal((), dtype).dtype) * 2 - 1


def hinge_loss(self, target, reduction=1):
    """max(0, 1 - self * target), reduced; f16 and bf16 in f32 and rounded once."""
    low = self.dtype in (torch.float16, torch.bfloat16)
    x, y = (self.float(), target.float()) if low else (self, target)
    loss = torch.clamp_min(1 - x * y, 0)
    loss = loss.mean() if reduction == 1 else loss.sum() if reduction == 2 else loss
    return loss.to(self.dtype)


def margins():
    """The losses with a margin or a sign as target."""
    for name, call, options in (
        ("hinge_embedding_loss", None, ({}, {"margin": 2.0}, {"margin": -0.5})),
        ("soft_margin_loss", None, ({},)),
        ("hinge_loss", hinge_loss, ({},)),
    ):
        op, gen = Op(name, call), Gen(name)
        pair(op, gen, gen.normal, signs(gen), options)
        op.ok(
            self=tensor([NAN, INF, -INF, INF, -INF, 1.0, -1.0]),
            target=tensor([1.0, 1.0, 1.0, -1.0, -1.0, 1.0, -1.0]),
            reduction=0,
        )
        op.ok(self=tensor([NAN, INF, 2.0]), target=tensor([1.0, -1.0, 1.0]))
        op.ok(self=gen.normal((3, 4)), target=signs(gen)((4,)), reduction=0)
        op.ok(self=tensor([50.0, -50.0, 1.0, 0.5]), target=tensor([-1.0, -1.0, 1.0, 1.0]), reduction=0)
        op.bad(self=gen.normal((3,)), target=signs(gen)((2,)))
    embeddings()
    ranking()


def embeddings():
    """cosine_embedding_loss and triplet_margin_loss."""
    op, gen = Op("cosine_embedding_loss"), Gen("cosine_embedding_loss")
    for reduction in (0, 1, 2):
        for margin in (0.0, 0.5, -0.25):
            for dtype in ("f32", "f64") if margin else FLOATS:
                op.ok(
                    input1=gen.normal((4, 3), dtype),
                    input2=gen.normal((4, 3), dtype),
                    target=signs(gen)((4,), dtype),
                    margin=margin,
                    reduction=reduction,
                )
        op.ok(input1=gen.normal((3,)), input2=gen.normal((3,)), target=tensor(-1.0), reduction=reduction)
        op.ok(input1=gen.normal((4, 3)), input2=gen.normal((4, 3)), target=signs(gen)((4,), "i64"), reduction=reduction)
    op.ok(
        input1=tensor([[NAN, 1.0], [0.0, 0.0]]),
        input2=tensor([[1.0, 1.0], [1.0, 1.0]]),
        target=tensor([1.0, -1.0]),
        reduction=0,
    )
    for layout in LAYOUTS:
        op.ok(input1=layout(gen.normal((4, 3))), input2=layout(gen.normal((4, 3))), target=signs(gen)((4,)))
    op.bad(input1=gen.normal((4, 3)), input2=gen.normal((4, 2)), target=signs(gen)((4,)))
    op.bad(input1=gen.normal((4, 3)), input2=gen.normal((4, 3)), target=signs(gen)((4, 1)))

    op, gen = Op("triplet_margin_loss", once=True), Gen("triplet_margin_loss")

    def three(shape=(4, 3), dtype="f32", layout=lambda t: t):
        return {name: layout(gen.normal(shape, dtype)) for name in ("anchor", "positive", "negative")}

    for reduction in (0, 1, 2):
        for dtype in FLOATS:
            op.ok(**three(dtype=dtype), reduction=reduction)
        for option in (
            {"margin": 0.25},
            {"p": 1.0},
            {"p": 3.0},
            {"swap": True},
            {"eps": 0.1},
            {"margin": 2.0, "p": 1.0, "swap": True},
            {"p": INF},
        ):
            op.ok(**three(), **option, reduction=reduction)
        op.ok(**three((3,)), reduction=reduction)
        op.ok(**three((0, 3)), reduction=reduction)
    op.ok(**{**three((2, 2)), "anchor": tensor([[NAN, 1.0], [INF, 0.0]])}, reduction=0)
    op.ok(**{**three(), "negative": gen.normal((1, 3))}, reduction=0)
    for layout in LAYOUTS:
        op.ok(**three(layout=layout))
    op.bad(**{**three(), "negative": gen.normal((4, 2))})
    op.bad(**{**three(), "negative": gen.normal((3,))})


def ranking():
    """margin_ranking_loss."""
    op, gen = Op("margin_ranking_loss"), Gen("margin_ranking_loss")
    for reduction in (0, 1, 2):
        for dtype in FLOATS:
            op.ok(
                input1=gen.normal((5,), dtype),
                input2=gen.normal((5,), dtype),
                target=signs(gen)((5,), dtype),
                reduction=reduction,
            )
        op.ok(
            input1=gen.normal((5,)), input2=gen.normal((5,)), target=signs(gen)((5,)), margin=0.75, reduction=reduction
        )
        op.ok(
            input1=gen.normal((2, 3)),
            input2=gen.normal((2, 3)),
            target=signs(gen)((2, 3)),
            margin=-0.5,
            reduction=reduction,
        )
        op.ok(input1=gen.normal(()), input2=gen.normal(()), target=tensor(1.0), reduction=reduction)
        op.ok(input1=gen.normal((0,)), input2=gen.normal((0,)), target=gen.normal((0,)), reduction=reduction)
    op.ok(
        input1=tensor([NAN, INF, INF, 1.0]),
        input2=tensor([1.0, INF, 1.0, 1.0]),
        target=tensor([1.0, 1.0, -1.0, 1.0]),
        reduction=0,
    )
    for layout in LAYOUTS:
        op.ok(input1=layout(gen.normal((2, 3))), input2=layout(gen.normal((2, 3))), target=signs(gen)((2, 3)))
    op.bad(input1=gen.normal((5,)), input2=gen.normal((4,)), target=signs(gen)((5,)))
    op.ok(input1=gen.normal((2, 3)), input2=gen.normal((2, 3)), target=signs(gen)((3,)))


def cosine_similarity():
    """cosine_similarity."""
    op, gen = Op("cosine_similarity"), Gen("cosine_similarity")
    for dtype in FLOATS:
        op.ok(x1=gen.normal((3, 4), dtype), x2=gen.normal((3, 4), dtype))
        op.ok(x1=gen.normal((2, 3, 4), dtype), x2=gen.normal((2, 3, 4), dtype), dim=-1)
    op.ok(x1=gen.normal((2, 3, 4)), x2=gen.normal((2, 3, 4)), dim=0)
    op.ok(x1=gen.normal((3, 4)), x2=gen.normal((1, 4)))
    op.ok(x1=gen.normal((3, 4)), x2=gen.normal((4,)), dim=-1)
    op.ok(x1=gen.normal((4,)), x2=gen.normal((4,)), dim=0)
    op.ok(x1=gen.normal((3, 4), "f32", 0.1), x2=gen.normal((3, 4), "f32", 0.1), eps=0.5)
    op.ok(
        x1=tensor([[0.0, 0.0], [NAN, 1.0], [INF, 1.0], [1.0, 2.0]]),
        x2=tensor([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [-2.0, -4.0]]),
    )
    op.ok(x1=gen.normal((0, 3)), x2=gen.normal((0, 3)))
    for layout in LAYOUTS:
        op.ok(x1=layout(gen.normal((3, 4))), x2=layout(gen.normal((3, 4))))
    op.bad(x1=gen.normal((3, 4)), x2=gen.normal((3, 3)))
    op.bad(x1=gen.normal((3, 4)), x2=gen.normal((3, 4)), dim=2)


def cases():
    """Every case of this file."""
    nll()
    images()
    cross_entropy()
    distances()
    divergences()
    margins()
    cosine_similarity()
