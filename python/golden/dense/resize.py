"""Images of one to three dimensions, resized."""

import torch

from ..inputs import FLOATS, INF, LAYOUTS, NAN, Gen, channels_last, tensor
from ..record import Op, aten, precise

# name: spatial dimensions, whether corners may be aligned
TABLE = {
    "upsample_nearest1d": (1, False),
    "upsample_nearest3d": (3, False),
    "_upsample_nearest_exact1d": (1, False),
    "_upsample_nearest_exact2d": (2, False),
    "_upsample_nearest_exact3d": (3, False),
    "upsample_linear1d": (1, True),
    "upsample_trilinear3d": (3, True),
    "upsample_bicubic2d": (2, True),
    "_upsample_bicubic2d_aa": (2, True),
}
SCALES = {1: ("scales",), 2: ("scales_h", "scales_w"), 3: ("scales_d", "scales_h", "scales_w")}
EXTENTS = (3, 4, 5)


def rounded(name):
    """The overload `name` in f64, rounded once: the CPU has no kernel for f16 and bf16."""
    return lambda self, **args: aten(name)(self=self.double(), **args).to(self.dtype)


def antialiased(op, gen):
    """Windows that grow with the scale: many elements to few, one dimension larger and one smaller."""
    for corners in (False, True):
        for shape, size in (((1, 2, 9, 13), (2, 3)), ((1, 1, 17, 4), (5, 11)), ((2, 1, 1, 23), (1, 2)), ((1, 1, 8, 6), (8, 3))):
            for dtype in FLOATS:
                op.ok(self=gen.normal(shape, dtype), output_size=list(size), align_corners=corners)
        op.ok(self=gen.normal((1, 1, 7, 9)), output_size=[3, 4], align_corners=corners, scales_h=0.4, scales_w=0.5)
        op.ok(self=gen.normal((1, 1, 7, 9)), output_size=[3, 4], align_corners=corners, scales_h=-1.0, scales_w=0.0)
    row = tensor([[[[1.0, NAN, 3.0, 4.0, 5.0, 6.0, 7.0, INF, 9.0, 1.0, 2.0, 3.0, 4.0, -INF]]]])
    op.ok(self=row, output_size=[1, 5], align_corners=False)
    op.bad(self=gen.normal((1, 1, 4, 4)), output_size=[2, -2], align_corners=False)
    op.bad(self=gen.normal((1, 1, 4, 4)), output_size=[2, 2, 2], align_corners=False)


def resized(name, n, corners):
    """Larger and smaller sizes, scales that are given, layouts."""
    call = rounded(name) if name.endswith("_aa") else precise(name) if n == 2 and corners else None
    op, gen = Op(name, call, once=True), Gen(name)
    shape = (2, 3, *EXTENTS[-n:])
    for options in ({"align_corners": False}, {"align_corners": True}) if corners else ({},):
        for size in ((5, 9, 7), (2, 3, 4), (1, 1, 1), EXTENTS):
            for dtype in FLOATS:
                op.ok(self=gen.normal(shape, dtype), output_size=list(size[-n:]), **options)
        given = {scale: 1.7 for scale in SCALES[n]}
        op.ok(self=gen.normal(shape), output_size=[int(1.7 * extent) for extent in EXTENTS[-n:]], **given, **options)
        op.ok(self=gen.normal((0, *shape[1:])), output_size=[4] * n, **options)
        for layout in LAYOUTS:
            op.ok(self=layout(gen.normal(shape)), output_size=[7] * n, **options)
        if n == 2:
            op.ok(self=channels_last(gen.normal(shape)), output_size=[7] * n, **options)
        op.bad(self=gen.normal((2, 0, *shape[2:])), output_size=[4] * n, **options)
        op.bad(self=gen.normal(shape[1:]), output_size=[4] * n, **options)
        op.bad(self=gen.normal(shape), output_size=[0] * n, **options)
    if name.endswith("_aa"):
        antialiased(op, gen)
    if not corners:
        op.ok(self=gen.ints(shape, "u8"), output_size=[6] * n)


def pooled():
    """adaptive_max_pool1d and 3d."""
    for n in (1, 3):
        op, gen = Op(f"adaptive_max_pool{n}d"), Gen(f"adaptive_max_pool{n}d")
        shape = (2, 3, 4, 5, 7)[: 2] + (4, 5, 7)[-n:]
        for size in ((1, 1, 1), (2, 3, 4), (4, 5, 7), (5, 6, 9)):
            for dtype in FLOATS:
                op.ok(self=gen.distinct(shape, dtype), output_size=list(size[-n:]))
        op.ok(self=gen.distinct(shape[1:]), output_size=[2] * n)
        op.ok(self=gen.normal((0, *shape[1:])), output_size=[2] * n)
        for layout in LAYOUTS:
            op.ok(self=layout(gen.distinct(shape)), output_size=[2] * n)
        op.bad(self=gen.normal((2, 0, *shape[2:])), output_size=[2] * n)


def diagonal_sum(self):
    """The trace; of f16 and bf16 in f32, rounded once, as the CPU has no kernel for them."""
    low = self.dtype in (torch.float16, torch.bfloat16)
    return aten("trace")(self.float()).to(self.dtype) if low else aten("trace")(self)


def products():
    """addr, kron, trace and distances."""
    addr, gen = Op("addr", once=True), Gen("addr")
    for dtype in FLOATS:
        addr.ok(self=gen.normal((3, 4), dtype), vec1=gen.normal((3,), dtype), vec2=gen.normal((4,), dtype))
        addr.ok(self=gen.normal((4,), dtype), vec1=gen.normal((3,), dtype), vec2=gen.normal((4,), dtype), beta=0.5, alpha=-2)
    addr.ok(self=tensor([float("nan")]), vec1=gen.normal((3,)), vec2=gen.normal((4,)), beta=0)
    addr.ok(self=gen.normal((3, 0)), vec1=gen.normal((3,)), vec2=gen.normal((0,)))
    addr.bad(self=gen.normal((3, 3)), vec1=gen.normal((3,)), vec2=gen.normal((4,)))
    addr.bad(self=gen.normal((3, 4)), vec1=gen.normal((3, 1)), vec2=gen.normal((4,)))
    kron, gen = Op("kron"), Gen("kron")
    for dtype in FLOATS + ("i64", "i32"):
        kron.ok(self=gen.values((2, 3), dtype), other=gen.values((3, 2), dtype))
        kron.ok(self=gen.values((3,), dtype), other=gen.values((2, 1, 2), dtype))
    kron.ok(self=gen.normal(()), other=gen.normal((3,)))
    kron.ok(self=gen.normal((0, 2)), other=gen.normal((3, 2)))
    kron.ok(self=gen.normal((2,), "f16"), other=gen.ints((3,)))
    for layout in LAYOUTS:
        kron.ok(self=layout(gen.normal((3, 2))), other=layout(gen.normal((2, 2))))
    trace, gen = Op("trace", diagonal_sum), Gen("trace")
    for dtype in FLOATS + ("i64", "i32", "u8"):
        for shape in ((3, 3), (2, 5), (5, 2), (1, 1), (0, 3)):
            trace.ok(self=gen.values(shape, dtype))
    for layout in LAYOUTS:
        trace.ok(self=layout(gen.normal((3, 4))))
    trace.bad(self=gen.normal((3,)))
    trace.bad(self=gen.normal((2, 3, 3)))
    between, gen = Op("_cdist_forward"), Gen("_cdist_forward")
    within = Op("_pdist_forward")
    for p in (0.0, 1.0, 2.0, 3.5, float("inf")):
        for dtype in ("f32", "f64"):
            left, right = gen.normal((3, 4), dtype), gen.normal((5, 4), dtype)
            between.ok(x1=left, x2=right, p=p, compute_mode=None)
            within.ok(self=gen.normal((4, 3), dtype), p=p)
        between.ok(x1=gen.normal((2, 1, 3, 2)), x2=gen.normal((4, 2, 2)), p=p, compute_mode=2)
    between.ok(x1=gen.normal((0, 3)), x2=gen.normal((2, 3)), p=2.0, compute_mode=None)
    between.ok(x1=gen.normal((2, 0)), x2=gen.normal((3, 0)), p=2.0, compute_mode=None)
    within.ok(self=gen.normal((1, 3)), p=2.0)
    between.bad(x1=gen.normal((3, 4)), x2=gen.normal((5, 3)), p=2.0, compute_mode=None)
    between.bad(x1=gen.normal((4,)), x2=gen.normal((5, 4)), p=2.0, compute_mode=None)
    within.bad(self=gen.normal((3,)), p=2.0)


def rearranged():
    """diag_embed and pixel_unshuffle."""
    op, gen = Op("diag_embed"), Gen("diag_embed")
    for dtype in FLOATS + ("i64", "bool"):
        op.ok(self=gen.values((2, 3), dtype))
    for offset in (0, 2, -1):
        for dims in ((-2, -1), (0, 2), (2, 0), (1, 0)):
            op.ok(self=gen.normal((2, 3)), offset=offset, dim1=dims[0], dim2=dims[1])
    op.ok(self=gen.normal((0,)))
    for layout in LAYOUTS:
        op.ok(self=layout(gen.normal((3, 4))))
    op.bad(self=gen.normal((3,)), dim1=1, dim2=1)
    op.bad(self=gen.normal(()))
    op, gen = Op("pixel_unshuffle"), Gen("pixel_unshuffle")
    for dtype in FLOATS + ("i64", "bool"):
        op.ok(self=gen.values((2, 3, 4, 6), dtype), downscale_factor=2)
    op.ok(self=gen.normal((2, 6, 9)), downscale_factor=3)
    op.ok(self=gen.normal((2, 1, 2, 4, 4)), downscale_factor=1)
    # No case without elements: the CPU's kernel returns such a tensor as it is, CUDA's has the shape.
    for layout in (*LAYOUTS, channels_last):
        op.ok(self=layout(gen.normal((2, 3, 4, 4))), downscale_factor=2)
    op.bad(self=gen.normal((2, 3, 5, 4)), downscale_factor=2)
    op.bad(self=gen.normal((4, 4)), downscale_factor=2)
    op.bad(self=gen.normal((2, 4, 4)), downscale_factor=0)


def cases():
    """Every case of this file."""
    for name, (n, corners) in TABLE.items():
        resized(name, n, corners)
    pooled()
    products()
    rearranged()
