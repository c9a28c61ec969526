"""Gradients of softmax, norms, losses, views, embeddings and convolutions."""

import torch

from ..inputs import FLOATS, INF, LAYOUTS, NAN, Gen, channels_last, tensor
from ..record import Op, aten


def cases():
    """Every case of this file."""
    softmax()
    layer_norm()
    group_norm()
    batch_norm()
    views()
    embedding()
    nll()
    images()
    losses()
    convolution()
    average()


def present(call):
    """`call`, with a tensor without elements in the place of each gradient that is not asked for."""

    def called(**args):
        results = call(**args)
        dtype = next(v.dtype for v in args.values() if isinstance(v, torch.Tensor))
        return [torch.empty(0, dtype=dtype) if result is None else result for result in results]

    return called


def softmax():
    """Of softmax and its logarithm; the type of the input is that of both tensors."""
    for name in ("softmax", "log_softmax"):
        of = aten(f"_{name}_backward_data")
        forward = aten(f"_{name}")

        def call(grad_output, output, dim, input_dtype, of=of):
            return of(grad_output, output, dim, output.dtype)

        op, gen = Op(f"{name}_backward_data", call, once=True), Gen(f"{name}_backward_data")

        def ok(grad, x, dim, layout=lambda t: t):
            output = layout(forward(x.float(), dim, False).to(x.dtype))
            op.ok(grad_output=grad, output=output, dim=dim, input_dtype=x.dtype)

        for dtype in FLOATS:
            for dim in (0, 1, -1, -2):
                ok(gen.normal((2, 3, 4), dtype), gen.normal((2, 3, 4), dtype, 3), dim)
            ok(gen.normal((2, 40), dtype), gen.normal((2, 40), dtype, 5), 1)
        for shape, dim in (((), 0), ((), -1), ((1,), 0), ((3, 1), 1), ((0, 3), 1), ((0, 3), 0), ((3, 0), 1), ((7,), 0)):
            ok(gen.normal(shape), gen.normal(shape), dim)
        for i, layout in enumerate(LAYOUTS):
            ok(layout(gen.normal((3, 2, 4), FLOATS[i])), gen.normal((3, 2, 4), FLOATS[i]), 2, layout)
        rows = tensor([[NAN, 1.0, 2.0], [1.0, -1.0, 0.0], [INF, 1.0, 2.0], [-INF, INF, 0.0]])
        ok(rows, gen.normal((4, 3)), 1)
        op.bad(grad_output=gen.normal((2, 3)), output=gen.normal((2, 3)), dim=2, input_dtype=torch.float32)


def statistics(x, dims, eps=1e-5):
    """Mean and 1 / sqrt(var + eps) over some dimensions, kept, in the type of `x`."""
    wide = x.double()
    var, mean = torch.var_mean(wide, dims, correction=0, keepdim=True)
    return mean.to(x.dtype), (var + eps).rsqrt().to(x.dtype)


def layer_norm():
    """Of layer_norm, all three gradients and some of them."""
    name = "native_layer_norm_backward"
    op, gen = Op(name, present(aten(name)), once=True), Gen(name)

    def ok(shape, n, dtype="f32", weight=True, bias=True, mask=(1, 1, 1), layout=lambda t: t):
        x, row = gen.normal(shape, dtype, mean=0.5), list(shape[len(shape) - n :])
        mean, rstd = statistics(x, list(range(len(shape) - n, len(shape))))
        op.ok(
            grad_out=layout(gen.normal(shape, dtype)),
            input=layout(x),
            normalized_shape=row,
            mean=mean,
            rstd=rstd,
            weight=gen.normal(tuple(row), dtype) if weight else None,
            bias=gen.normal(tuple(row), dtype) if bias else None,
            output_mask=list(mask),
        )

    for dtype in FLOATS:
        ok((3, 5), 1, dtype)
        ok((2, 3, 4), 2, dtype)
    ok((3, 5), 1, weight=False, bias=False, mask=(1, 0, 0))
    ok((3, 5), 1, bias=False, mask=(0, 1, 0))
    ok((3, 5), 1, weight=False, mask=(1, 0, 1))
    ok((1,), 1)
    ok((4, 1), 1)
    for layout in LAYOUTS:
        ok((3, 2, 4), 1, layout=layout)


def group_norm():
    """Of group_norm."""
    name = "native_group_norm_backward"
    op, gen = Op(name, present(aten(name)), once=True), Gen(name)

    def ok(shape, group, dtype="f32", weight=True, mask=(1, 1, 1)):
        n, c = shape[:2]
        x = gen.normal(shape, dtype, mean=0.5)
        mean, rstd = statistics(x.reshape(n, group, -1), [2])
        hw = x[0, 0].numel()
        args = {"N": n, "C": c, "HxW": hw, "group": group, "output_mask": list(mask)}
        op.ok(
            grad_out=gen.normal(shape, dtype),
            input=x,
            mean=mean.reshape(n, group),
            rstd=rstd.reshape(n, group),
            weight=gen.normal((c,), dtype) if weight else None,
            **args,
        )

    for dtype in FLOATS:
        ok((2, 6, 5), 2, dtype)
        ok((2, 4, 3, 2), 4, dtype)
    ok((3, 4, 2), 1, weight=False, mask=(1, 0, 0))
    ok((3, 4, 2), 2, mask=(0, 1, 1))
    ok((1, 1, 1), 1)


def batch_norm():
    """Of batch_norm, in training and out of it."""
    name = "native_batch_norm_backward"
    op, gen = Op(name, present(aten(name)), once=True), Gen(name)

    def ok(shape, dtype="f32", weight=True, train=True, mask=(1, 1, 1), layout=lambda t: t):
        c = shape[1]
        x = gen.normal(shape, dtype, mean=0.5)
        mean, rstd = statistics(x, [0, *range(2, len(shape))])
        op.ok(
            grad_out=layout(gen.normal(shape, dtype)),
            input=layout(x),
            weight=gen.normal((c,), dtype) if weight else None,
            running_mean=None if train else gen.normal((c,), dtype),
            running_var=None if train else gen.uniform((c,), dtype, 0.5, 2.0),
            save_mean=mean.reshape(-1) if train else None,
            save_invstd=rstd.reshape(-1) if train else None,
            train=train,
            eps=1e-5,
            output_mask=list(mask),
        )

    for dtype in FLOATS:
        ok((3, 4), dtype)
        ok((2, 3, 4), dtype)
        ok((2, 3, 2, 2), dtype, train=False)
    ok((2, 3, 2, 2), layout=channels_last)
    ok((3, 4), weight=False, mask=(1, 0, 0))
    ok((3, 4), mask=(0, 1, 1))


def views():
    """Of select and slice: every dimension, both ends."""
    op, gen = Op("select_backward"), Gen("select_backward")
    for dtype in (*FLOATS, "i64", "i32", "u8", "bool"):
        op.ok(grad_output=gen.values((3, 4), dtype), input_sizes=[3, 2, 4], dim=1, index=1)
    for dim, index in ((0, 0), (-1, -1), (1, -2), (2, 3)):
        shape = [3, 2, 4]
        del shape[dim]
        op.ok(grad_output=gen.normal(tuple(shape)), input_sizes=[3, 2, 4], dim=dim, index=index)
    op.ok(grad_output=gen.normal(()), input_sizes=[5], dim=0, index=2)
    for layout in LAYOUTS:
        op.ok(grad_output=layout(gen.normal((3, 4))), input_sizes=[3, 4, 2], dim=2, index=0)
    op.bad(grad_output=gen.normal((3,)), input_sizes=[3, 2], dim=1, index=2)
    op.bad(grad_output=gen.normal((3,)), input_sizes=[3, 2], dim=2, index=0)
    op, gen = Op("slice_backward"), Gen("slice_backward")

    def ok(sizes, dim, start, end, step, dtype="f32", layout=lambda t: t):
        shape = torch.empty(sizes).transpose(0, dim)[slice(start, end, step)].transpose(0, dim).shape
        grad = layout(gen.values(tuple(shape), dtype))
        op.ok(grad_output=grad, input_sizes=sizes, dim=dim, start=start, end=end, step=step)

    for dtype in (*FLOATS, "i64", "i32", "u8", "bool"):
        ok([3, 5, 4], 1, 1, 4, 1, dtype)
    for start, end, step in ((0, 7, 2), (-3, 100, 1), (2, -1, 3), (4, 2, 1), (6, 7, 1), (-100, 2, 1)):
        ok([7, 2], 0, start, end, step)
    for layout in LAYOUTS:
        ok([3, 6], -1, 1, 5, 1, layout=layout)
    op.bad(grad_output=gen.normal((3,)), input_sizes=[3], dim=0, start=0, end=3, step=0)
    op.bad(grad_output=gen.normal((2,)), input_sizes=[3], dim=0, start=0, end=3, step=1)


def embedding():
    """Rows that are named often, once and never; padding; scaled by counts."""
    name = "embedding_dense_backward"
    op, gen = Op(name, once=True), Gen(name)

    def ok(shape, rows, width, dtype="f32", padding=-1, scale=False, index="i64", layout=lambda t: t):
        indices = gen.ints(shape, index, 0, rows - 1)
        grad = layout(gen.normal((*shape, width), dtype))
        args = {"num_weights": rows, "padding_idx": padding, "scale_grad_by_freq": scale}
        op.ok(grad_output=grad, indices=indices, **args)

    for dtype in FLOATS:
        ok((7,), 4, 3, dtype)
        ok((2, 5), 3, 4, dtype, padding=1)
    ok((9,), 3, 2, scale=True)
    ok((9,), 3, 2, scale=True, padding=0)
    ok((), 3, 2)
    ok((5,), 9, 3, index="i32")
    for layout in LAYOUTS:
        ok((4,), 3, 2, layout=layout)


def nll():
    """Each reduction, with and without weights and ignored rows."""
    name = "nll_loss_backward"
    op, gen = Op(name, once=True), Gen(name)

    def ok(shape, reduction, dtype="f32", weight=False, ignore=-100):
        n, c = (1, *shape) if len(shape) == 1 else shape
        target = gen.ints(shape[:-1], "i64", 0, c - 1)
        grad = gen.normal((n,) if reduction == 0 and len(shape) == 2 else (), dtype)
        op.ok(
            grad_output=grad,
            self=gen.normal(shape, dtype),
            target=target,
            weight=gen.uniform((c,), dtype, 0.5, 2.0) if weight else None,
            reduction=reduction,
            ignore_index=ignore,
            total_weight=tensor(float(n) + 0.5, dtype),
        )

    for dtype in FLOATS:
        for reduction in (0, 1, 2):
            ok((5, 4), reduction, dtype)
            ok((5, 4), reduction, dtype, weight=True, ignore=2)
    for reduction in (0, 1, 2):
        ok((4,), reduction)
    op.bad(
        grad_output=gen.normal((5,)),
        self=gen.normal((4, 3)),
        target=gen.ints((4,), "i64", 0, 2),
        weight=None,
        reduction=0,
        ignore_index=-100,
        total_weight=tensor(1.0),
    )


def images():
    """As nll, of a class per place of an image."""
    name = "nll_loss2d_backward"
    op, gen = Op(name, once=True), Gen(name)

    def ok(shape, reduction, dtype="f32", weight=False, ignore=-100, layout=lambda t: t, total=None, **rest):
        n, c, h, w = shape
        grad = layout(gen.normal((n, h, w), dtype)) if reduction == 0 else gen.normal((), dtype)
        args = {
            "grad_output": grad,
            "self": gen.normal(shape, dtype),
            "target": layout(gen.ints((n, h, w), "i64", 0, c - 1)),
            "weight": gen.uniform((c,), dtype, 0.5, 2.0) if weight else None,
            "reduction": reduction,
            "ignore_index": ignore,
            "total_weight": tensor(float(n * h * w) + 0.5 if total is None else total, dtype),
        }
        op.ok(**{**args, **rest})

    for dtype in FLOATS:
        for reduction in (0, 1, 2):
            ok((2, 4, 3, 5), reduction, dtype)
            ok((2, 4, 3, 2), reduction, dtype, weight=True, ignore=2)
    for reduction in (0, 1, 2):
        ok((1, 1, 1, 1), reduction)
        ok((0, 3, 2, 2), reduction)
        ok((2, 3, 0, 2), reduction)
        ok((1, 3, 1, 2), reduction, target=tensor([[[-100, 1]]], "i64"))
        ok((1, 3, 1, 2), reduction, target=tensor([[[-1, -1]]], "i64"), ignore=-1)
        ok((1, 2, 1, 2), reduction, weight=True, total=0.0)
    ok((1, 2, 1, 3), 0, grad_output=tensor([[[NAN, INF, -INF]]]))
    ok((1, 2, 1, 3), 1, grad_output=tensor(INF))
    ok((1, 2, 1, 3), 2, grad_output=tensor(NAN))
    ok((2, 2, 2, 3), 1, grad_output=gen.normal((1,)), total_weight=tensor([3.0]))
    for layout in LAYOUTS:
        ok((2, 3, 4, 2), 0, layout=layout)
    args = {"self": gen.normal((2, 3, 1, 4)), "target": gen.ints((2, 1, 4), "i64", 0, 2), "weight": None}
    args |= {"reduction": 0, "ignore_index": -100, "total_weight": tensor(1.0)}
    good = gen.normal((2, 1, 4))
    op.bad(grad_output=gen.normal((2, 4, 1)), **args)
    op.bad(grad_output=gen.normal((8,)), **args)
    op.bad(grad_output=good, **{**args, "self": gen.normal((2, 3, 4))})
    op.bad(grad_output=good, **{**args, "target": gen.ints((2, 4, 1), "i64", 0, 2)})
    op.bad(grad_output=good, **{**args, "target": gen.ints((2, 1, 4), "i32", 0, 2)})
    op.bad(grad_output=good, **{**args, "weight": gen.uniform((2,))})
    op.bad(grad_output=good, **{**args, "total_weight": tensor([1.0, 2.0])})
    op.bad(grad_output=good, **{**args, "reduction": 1})


def losses():
    """Each reduction, shapes that broadcast."""
    differences("mse_loss_backward", [{}])
    differences("smooth_l1_loss_backward", [{"beta": 1.0}, {"beta": 0.5}])
    differences("huber_loss_backward", [{"delta": 1.0}, {"delta": 0.5}])
    cross_entropy()


def cross_entropy():
    """Of probabilities, with weights and without."""
    name = "binary_cross_entropy_backward"
    op, gen = Op(name, once=True), Gen(name)
    for dtype in FLOATS:
        for reduction in (0, 1, 2):
            grad = gen.normal((3, 4) if reduction == 0 else (), dtype)
            x, y = gen.uniform((3, 4), dtype), gen.uniform((3, 4), dtype)
            op.ok(grad_output=grad.expand(3, 4).contiguous(), self=x, target=y, reduction=reduction)
            op.ok(grad_output=grad.expand(3, 4).contiguous(), self=x, target=y, weight=gen.uniform((3, 4), dtype), reduction=reduction)
    edges = tensor([0.0, 1.0, 0.5, 1.0, 0.0])
    op.ok(grad_output=gen.normal((5,)), self=edges, target=gen.uniform((5,)), reduction=0)
    for layout in LAYOUTS:
        op.ok(grad_output=layout(gen.normal((3, 4))), self=layout(gen.uniform((3, 4))), target=gen.uniform((3, 4)), reduction=2)


def differences(name, options):
    """Of losses of a difference."""
    op, gen = Op(name, once=True), Gen(name)
    for option in options:
        for dtype in FLOATS:
            for reduction in (0, 1, 2):
                grad = gen.normal((3, 4) if reduction == 0 else (), dtype)
                x, y = gen.normal((3, 4), dtype), gen.normal((3, 4), dtype)
                op.ok(grad_output=grad, self=x, target=y, reduction=reduction, **option)
        op.ok(grad_output=gen.normal((3, 4)), self=gen.normal((3, 4)), target=gen.normal((4,)), reduction=1, **option)
        rows = tensor([NAN, INF, -INF, 0.0, 1.0])
        op.ok(grad_output=gen.normal((5,)), self=rows, target=gen.normal((5,)), reduction=0, **option)
        op.ok(grad_output=rows, self=gen.normal((5,)), target=gen.normal((5,)), reduction=0, **option)
        for layout in LAYOUTS:
            grad, x = layout(gen.normal((3, 4))), layout(gen.normal((3, 4)))
            op.ok(grad_output=grad, self=x, target=gen.normal((3, 4)), reduction=2, **option)


def convolution():
    """One to three dimensions, options, groups, transposed, some of the gradients."""
    name = "convolution_backward"
    op, gen = Op(name, present(aten(name)), once=True), Gen(name)
    forward = aten("convolution")

    def ok(x, w, stride=1, padding=0, dilation=1, transposed=False, extra=0, groups=1, dtype="f32", mask=(1, 1, 1), bias=True):
        n = len(x) - 2
        args = {"stride": [stride] * n, "padding": [padding] * n, "dilation": [dilation] * n}
        args |= {"transposed": transposed, "output_padding": [extra] * n, "groups": groups}
        shape = tuple(forward(input=torch.zeros(x), weight=torch.zeros(w), bias=None, **args).shape)
        op.ok(
            grad_output=gen.normal(shape, dtype),
            input=gen.normal(x, dtype),
            weight=gen.normal(w, dtype),
            bias_sizes=[shape[1]] if bias else None,
            **args,
            output_mask=list(mask),
        )

    for dtype in FLOATS:
        ok((2, 3, 5), (4, 3, 3), dtype=dtype, padding=1)
        ok((1, 4, 4, 5), (2, 2, 2, 3), dtype=dtype, groups=2)
        ok((1, 4, 3, 3), (4, 2, 2, 2), dtype=dtype, transposed=True, stride=2)
    ok((1, 2, 6, 7), (3, 2, 3, 3), stride=2, padding=1)
    ok((1, 2, 6, 7), (3, 2, 2, 3), dilation=2)
    ok((1, 3, 4, 4), (3, 1, 3, 3), groups=3, padding=1)
    ok((1, 2, 3, 3), (2, 3, 3, 3), transposed=True, stride=2, padding=1, extra=1)
    ok((1, 4, 5), (4, 3, 2), transposed=True, groups=2)
    ok((1, 2, 3, 4, 3), (2, 2, 2, 2, 2))
    ok((2, 3, 5), (4, 3, 3), mask=(1, 0, 0), bias=False)
    ok((2, 3, 5), (4, 3, 3), mask=(0, 1, 1))
    ok((2, 3, 5), (4, 3, 3), mask=(1, 1, 0))


def average():
    """Of averages of windows: padding, overlaps, gaps, ceil_mode and divisors."""
    name = "avg_pool2d_backward"
    op, gen = Op(name, once=True), Gen(name)

    def ok(shape, kernel, stride=(), padding=(0, 0), ceil=False, pad=True, divisor=None, dtype="f32"):
        args = {"kernel_size": list(kernel), "stride": list(stride), "padding": list(padding)}
        args |= {"ceil_mode": ceil, "count_include_pad": pad, "divisor_override": divisor}
        out = aten("avg_pool2d")(torch.zeros(shape), **args)
        op.ok(grad_output=gen.normal(tuple(out.shape), dtype), self=gen.normal(shape, dtype), **args)

    for dtype in FLOATS:
        ok((2, 3, 5, 6), (2, 2), dtype=dtype)
        ok((1, 2, 5, 5), (3, 3), (1, 1), (1, 1), dtype=dtype)
    ok((2, 6, 7), (2, 3), (2, 2), (1, 1), ceil=True)
    ok((2, 6, 7), (2, 3), (2, 2), (1, 1), ceil=True, pad=False)
    ok((1, 1, 6, 6), (3, 3), (2, 2), divisor=5)
    ok((1, 1, 7, 7), (1, 2), (3, 3))
    op.bad(
        grad_output=gen.normal((1, 2, 2)),
        self=gen.normal((1, 4, 4)),
        kernel_size=[2, 2],
        stride=[2, 2],
        padding=[2, 2],
        ceil_mode=False,
        count_include_pad=True,
        divisor_override=None,
    )
