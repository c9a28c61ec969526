"""Gradients of weight normalisation and of dropout."""

from ..inputs import FLOATS, INF, LAYOUTS, NAN, Gen, channels_last, special, tensor
from ..record import Op, aten


def cases():
    """Every case of this file."""
    weight_norm()
    dropout()


def weight_norm():
    """Norms as the forward op gives them, and others: the gradient is of those that are saved."""
    name = "_weight_norm_interface_backward"
    op, gen = Op(name, once=True), Gen(name)
    forward = aten("_weight_norm_interface")

    def ok(shape, dim, dtype="f32", layout=lambda t: t, **rest):
        size = tuple(extent if at == dim else 1 for at, extent in enumerate(shape))
        v, g = gen.normal(shape, dtype), gen.normal(size, dtype)
        norms = forward(v, g, dim)[1]
        args = {"grad_w": layout(gen.normal(shape, dtype)), "saved_v": layout(v), "saved_g": g, "saved_norms": norms}
        op.ok(**{**args, "dim": dim, **rest})

    for dtype in FLOATS:
        for shape, dim in (((3, 4), 0), ((3, 4), 1), ((2, 3, 5), 0), ((2, 3, 5), 2), ((5, 1), 0), ((1, 7), 1), ((4,), 0)):
            ok(shape, dim, dtype)
    ok((3, 4), 0, saved_norms=gen.uniform((3, 1), "f32", 0.5, 2.0))
    ok((3, 4), 1, "f16", saved_norms=gen.uniform((1, 4), "f32", 0.5, 2.0))
    ok((3, 4), 0, saved_norms=tensor([[0.0], [INF], [NAN]]))
    ok((3, 4), 0, saved_g=tensor([[0.0], [-0.0], [NAN]]))
    ok((2, 3), 0, grad_w=tensor([[NAN, 1.0, 2.0], [INF, 1.0, -1.0]]))
    ok((2, 3), 0, saved_v=tensor([[0.0, 1.0, -INF], [0.0, 0.0, 0.0]]))
    ok((2, 3), 0, grad_w=tensor([[0.0, 0.0, 0.0], [1e-3, 1e3, 0.0]]))
    args = {"grad_w": gen.normal((2, 3, 4)), "saved_v": gen.normal((2, 3, 4))}
    middle = {"saved_g": gen.normal((1, 3, 1)), "saved_norms": gen.uniform((1, 3, 1))}
    op.bad(**args, **middle, dim=1)
    last = {"saved_g": gen.normal((1, 1, 4)), "saved_norms": gen.uniform((1, 1, 4))}
    op.bad(**args, **last, dim=-1)
    op.bad(**args, **last, dim=3)


def dropout():
    """native_dropout_backward: kept elements times the scale."""
    op, gen = Op("native_dropout_backward", once=True), Gen("native_dropout_backward")
    for dtype in FLOATS:
        for scale in (1.0, 2.0, 1.0 / 0.9, 0.0, -0.7):
            op.ok(grad_output=gen.normal((3, 5), dtype), mask=gen.mask((3, 5)), scale=scale)
        values = special(dtype)
        for mask in (gen.mask(tuple(values.shape)), gen.mask((1,)) > 1, gen.mask((1,)) < 1 + gen.mask((1,))):
            op.ok(grad_output=values, mask=mask.expand(values.shape).contiguous(), scale=1.25)
    for shape in ((), (1,), (0, 3), (2, 3, 4)):
        op.ok(grad_output=gen.normal(shape), mask=gen.mask(shape), scale=1.5)
    for layout in LAYOUTS:
        op.ok(grad_output=layout(gen.normal((3, 2, 4))), mask=layout(gen.mask((3, 2, 4))), scale=2.0)
    x = gen.normal((2, 3, 2, 2))
    op.ok(grad_output=channels_last(x), mask=gen.mask((2, 3, 2, 2)), scale=2.0)
    op.ok(grad_output=gen.normal((2, 3)), mask=gen.mask((3,)), scale=2.0)
    op.bad(grad_output=gen.normal((2, 3)), mask=gen.mask((2,)), scale=2.0)
