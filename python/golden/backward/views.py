"""Gradients of diagonals, sliding windows, adaptive averages and the gated linear unit."""

from ..inputs import FLOATS, INF, LAYOUTS, NAN, Gen, tensor
from ..record import Op


def cases():
    """Every case of this file."""
    op, gen = Op("diagonal_backward"), Gen("diagonal_backward")
    for dtype in FLOATS + ("i64", "bool"):
        op.ok(grad_output=gen.values((3,), dtype), input_sizes=[3, 4], offset=0, dim1=0, dim2=1)
    for offset, length in ((1, 3), (-1, 2), (3, 1), (-2, 1)):
        op.ok(grad_output=gen.normal((2, length)), input_sizes=[3, 2, 4], offset=offset, dim1=0, dim2=-1)
    op.ok(grad_output=gen.normal((2, 3)), input_sizes=[4, 2, 3], offset=-1, dim1=0, dim2=2)
    op.ok(grad_output=gen.normal((4, 2)), input_sizes=[2, 4, 3], offset=1, dim1=0, dim2=2)
    for layout in LAYOUTS:
        op.ok(grad_output=layout(gen.normal((3, 4))), input_sizes=[3, 4, 4], offset=0, dim1=1, dim2=2)
    op.bad(grad_output=gen.normal((3,)), input_sizes=[3, 4], offset=0, dim1=1, dim2=1)
    op, gen = Op("unfold_backward", once=True), Gen("unfold_backward")
    for dtype in FLOATS:
        for size, step in ((3, 1), (2, 2), (2, 3), (3, 2)):
            windows = (7 - size) // step + 1
            op.ok(grad_in=gen.normal((2, windows, size), dtype), input_sizes=[2, 7], dim=1, size=size, step=step)
            op.ok(grad_in=gen.normal((windows, 2, size), dtype), input_sizes=[7, 2], dim=0, size=size, step=step)
    op.ok(grad_in=tensor([[NAN, 1.0], [INF, 2.0], [-INF, 3.0]]), input_sizes=[4], dim=0, size=2, step=1)
    for layout in LAYOUTS:
        op.ok(grad_in=layout(gen.normal((2, 5, 3))), input_sizes=[2, 7], dim=-1, size=3, step=1)
    op, gen = Op("_adaptive_avg_pool2d_backward", once=True), Gen("_adaptive_avg_pool2d_backward")
    for dtype in FLOATS:
        for size in ((1, 1), (2, 3), (5, 7), (6, 9)):
            op.ok(grad_output=gen.normal((2, 3, *size), dtype), self=gen.normal((2, 3, 5, 7), dtype))
    op.ok(grad_output=gen.normal((3, 2, 2)), self=gen.normal((3, 5, 4)))
    for layout in LAYOUTS:
        op.ok(grad_output=layout(gen.normal((2, 3, 2, 2))), self=layout(gen.normal((2, 3, 4, 4))))
    op, gen = Op("glu_backward", once=True), Gen("glu_backward")
    for dtype in FLOATS:
        op.ok(grad_output=gen.normal((2, 3), dtype), self=gen.normal((2, 6), dtype, 2.0), dim=-1)
        op.ok(grad_output=gen.normal((2, 3), dtype), self=gen.normal((4, 3), dtype, 2.0), dim=0)
    halves = tensor([1.0, -1.0, 2.0, 3.0, 90.0, -110.0, 0.0, INF])
    op.ok(grad_output=gen.normal((4,)), self=halves, dim=0)
    op.ok(grad_output=tensor([NAN, INF, -INF, 0.0]), self=gen.normal((8,)), dim=0)
    op.ok(grad_output=gen.normal((0, 2)), self=gen.normal((0, 4)), dim=1)
    for layout in LAYOUTS:
        op.ok(grad_output=layout(gen.normal((3, 2))), self=layout(gen.normal((3, 4))), dim=1)
    op.bad(grad_output=gen.normal((2, 3)), self=gen.normal((2, 5)), dim=1)
