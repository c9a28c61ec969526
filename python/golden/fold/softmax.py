"""softmax and log_softmax. `half_to_float` is always false: only a GPU has it."""

from ..inputs import DTYPES, FLOATS, INF, LAYOUTS, NAN, Gen, channels_last, tensor
from ..record import Op, aten


def cases():
    """Every case of this file."""
    rows = [
        [NAN, 1.0, 2.0],
        [INF, 1.0, 2.0],
        [-INF, 1.0, 2.0],
        [-INF, -INF, -INF],
        [1000.0, 999.0, -1000.0],
        [-0.0, 0.0, 0.0],
        [88.0, -88.0, 0.0],
    ]
    for name in ("softmax", "log_softmax"):
        op, gen = Op(name, aten(f"_{name}"), once=name == "log_softmax"), Gen(name)
        for dtype in FLOATS:
            for dim in (0, 1, -1, -2):
                op.ok(self=gen.normal((2, 3, 4), dtype, 3), dim=dim, half_to_float=False)
            op.ok(self=tensor(rows, dtype), dim=1, half_to_float=False)
            op.ok(self=gen.normal((2, 40), dtype, 5), dim=1, half_to_float=False)
        for shape, dim in (((), 0), ((), -1), ((1,), 0), ((3, 1), 1), ((0, 3), 1), ((0, 3), 0), ((3, 0), 1), ((7,), 0)):
            op.ok(self=gen.normal(shape), dim=dim, half_to_float=False)
        for i, layout in enumerate(LAYOUTS):
            for dim in (0, 2):
                op.ok(self=layout(gen.normal((3, 2, 4), FLOATS[i])), dim=dim, half_to_float=False)
        op.ok(self=channels_last(gen.normal((2, 3, 2, 2))), dim=1, half_to_float=False)
        op.bad(self=gen.normal((2, 3)), dim=2, half_to_float=False)
        op.bad(self=gen.normal((2, 3)), dim=-3, half_to_float=False)
        op.bad(self=gen.ints((2, 3)), dim=1, half_to_float=False)
    op, gen = Op("safe_softmax", aten("_safe_softmax")), Gen("safe_softmax")
    for dtype in FLOATS:
        for dim in (0, 1, -1):
            op.ok(self=gen.normal((2, 3, 4), dtype, 3), dim=dim)
        op.ok(self=tensor(rows, dtype), dim=1)
    for shape, dim in (((), 0), ((1,), 0), ((0, 3), 1), ((3, 0), 1)):
        op.ok(self=gen.normal(shape), dim=dim)
    op.ok(self=gen.normal((2, 5), "f16"), dim=1, dtype=DTYPES["f32"])
    for layout in LAYOUTS:
        op.ok(self=layout(gen.normal((3, 2, 4))), dim=1)
    op.bad(self=gen.normal((2, 3)), dim=2)
