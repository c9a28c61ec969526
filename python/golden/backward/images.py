"""Gradients of maxima of windows, of weights of bags, and of resized and padded images."""

import torch

from ..inputs import FLOATS, INF, LAYOUTS, NAN, Gen, tensor
from ..record import Op, aten


def cases():
    """Every case of this file."""
    maximum()
    bag()
    resized("upsample_nearest2d_backward", [{}])
    resized("upsample_bilinear2d_backward", [{"align_corners": False}, {"align_corners": True}])
    corners = [{"align_corners": False}, {"align_corners": True}]
    resized("_upsample_bicubic2d_aa_backward", corners, rounded("_upsample_bicubic2d_aa_backward"))
    reflection()


def rounded(name):
    """The overload `name` in f64, rounded once: the CPU has no kernel for f16 and bf16."""
    return lambda grad_output, **args: aten(name)(grad_output=grad_output.double(), **args).to(grad_output.dtype)


def maximum():
    """Windows that overlap, are dilated, lie in the padding or leave gaps; ceil_mode."""
    name = "max_pool2d_with_indices_backward"
    op, gen = Op(name, once=True), Gen(name)
    forward = aten("max_pool2d_with_indices")

    def ok(shape, kernel, stride=(), padding=(0, 0), dilation=(1, 1), ceil=False, dtype="f32", layout=lambda t: t, grad=None):
        args = {"kernel_size": list(kernel), "stride": list(stride), "padding": list(padding)}
        args |= {"dilation": list(dilation), "ceil_mode": ceil}
        x = gen.normal(shape, dtype)
        indices = forward(x.float(), **args)[1]
        grad = gen.normal(tuple(indices.shape), dtype) if grad is None else grad
        op.ok(grad_output=layout(grad), self=x, **args, indices=layout(indices))

    for dtype in FLOATS:
        ok((2, 3, 5, 6), (2, 2), dtype=dtype)
        ok((1, 2, 5, 5), (3, 3), (1, 1), (1, 1), dtype=dtype)
    ok((2, 6, 7), (2, 3), (2, 2), (1, 1), ceil=True)
    ok((1, 2, 7, 6), (3, 2), (1, 2), dilation=(2, 3))
    ok((1, 1, 7, 7), (1, 2), (3, 3))
    ok((0, 2, 4, 4), (2, 2))
    ok((1, 1, 3, 3), (2, 2), (1, 1), grad=tensor([[[[NAN, INF], [-INF, 1.0]]]]))
    for layout in LAYOUTS:
        ok((1, 2, 5, 5), (3, 3), (1, 1), layout=layout)
    args = {"kernel_size": [2, 2], "stride": [2, 2], "padding": [0, 0], "dilation": [1, 1], "ceil_mode": False}
    places = tensor([[[0, 2], [8, 10]]], "i64")
    op.bad(grad_output=gen.normal((1, 2, 3)), self=gen.normal((1, 4, 4)), **args, indices=places)
    op.bad(grad_output=gen.normal((1, 2, 2)), self=gen.normal((1, 4, 4)), **{**args, "padding": [2, 2]}, indices=places)


def bag():
    """Bags with and without indices; a row that is padding."""
    name = "_embedding_bag_per_sample_weights_backward"
    op, gen = Op(name, once=True), Gen(name)

    def call(starts, n, rows, width, dtype="f32", padding=-1, index="i64", layout=lambda t: t, grad=None, mode=0):
        ends = [*starts[1:], n]
        numbers = [bag for bag, (start, end) in enumerate(zip(starts, ends, strict=True)) for _ in range(start, end)]
        return {
            "grad": layout(gen.normal((len(starts), width), dtype) if grad is None else grad),
            "weight": layout(gen.normal((rows, width), dtype)),
            "indices": gen.ints((n,), index, 0, rows - 1),
            "offsets": tensor(starts, index),
            "offset2bag": tensor(numbers, index),
            "mode": mode,
            "padding_idx": padding,
        }

    for dtype in FLOATS:
        op.ok(**call([0, 3, 3, 5], 9, 6, 5, dtype))
        op.ok(**call([0, 4], 9, 3, 4, dtype, padding=1))
    op.ok(**call([0, 2], 5, 4, 3, index="i32"))
    op.ok(**call([0], 1, 1, 1))
    op.ok(**call([0, 0], 0, 4, 3))
    op.ok(**call([0, 1, 2], 3, 4, 2, grad=tensor([[NAN, 1.0], [INF, -INF], [INF, 1.0]])))
    for layout in LAYOUTS:
        op.ok(**call([0, 2, 4], 6, 5, 4, layout=layout))
    op.bad(**call([0, 2], 5, 4, 3, mode=1))


def resized(name, options, call=None):
    """Larger and smaller images, equal ones, scales that are given."""
    op, gen = Op(name, call, once=True), Gen(name)

    def ok(size, output, option, lead=(2, 3), dtype="f32", layout=lambda t: t, **scales):
        grad = layout(gen.normal((*lead, *output), dtype))
        op.ok(grad_output=grad, output_size=list(output), input_size=[*lead, *size], **option, **scales)

    for option in options:
        for dtype in FLOATS:
            ok((3, 4), (6, 8), option, dtype=dtype)
            ok((5, 7), (4, 3), option, dtype=dtype)
        for size, output in (((2, 5), (7, 9)), ((1, 1), (3, 2)), ((4, 3), (1, 1)), ((3, 5), (4, 5)), ((7, 2), (3, 5))):
            ok(size, output, option, lead=(1, 2))
        ok((3, 4), (6, 8), option, lead=(0, 2))
        ok((3, 4), (7, 9), option, scales_h=2.5, scales_w=2.3)
        for layout in LAYOUTS:
            ok((3, 2), (4, 5), option, layout=layout)
        if call is not None:
            for size, output in (((9, 13), (2, 3)), ((17, 4), (5, 11)), ((1, 23), (1, 2)), ((8, 6), (8, 3))):
                ok(size, output, option, lead=(1, 2))
            ok((7, 9), (3, 4), option, scales_h=0.4, scales_w=0.5)
    op.bad(grad_output=gen.normal((1, 2, 4, 4)), output_size=[4, 5], input_size=[1, 2, 3, 3], **options[0])
    op.bad(grad_output=gen.normal((1, 2, 4, 4)), output_size=[4, 4], input_size=[1, 2, 3], **options[0])


def reflection():
    """Pads of every side, as large as they may be; negative ones."""
    name = "reflection_pad2d_backward"
    op, gen = Op(name, once=True), Gen(name)
    forward = aten("reflection_pad2d")

    def ok(shape, padding, dtype="f32", layout=lambda t: t):
        padded = forward(torch.zeros(shape), list(padding)).shape
        grad = layout(gen.normal(tuple(padded), dtype))
        op.ok(grad_output=grad, self=gen.normal(shape, dtype), padding=list(padding))

    for dtype in FLOATS:
        ok((2, 3, 4, 5), (1, 2, 3, 1), dtype)
        ok((3, 4, 5), (4, 4, 3, 3), dtype)
    for padding in ((0, 0, 0, 0), (-1, 2, 1, -2), (-1, -1, -2, -1), (3, 0, 0, 2)):
        ok((1, 2, 5, 6), padding)
    ok((1, 1, 1, 4), (2, 1, 0, 0))
    for layout in LAYOUTS:
        ok((2, 2, 3, 4), (1, 1, 2, 1), layout=layout)
    op.bad(grad_output=gen.normal((1, 4, 4)), self=gen.normal((1, 4, 4)), padding=[1, 1, 0, 0])
