"""Upsampling, im2col and pixel_shuffle."""

from ..inputs import FLOATS, LAYOUTS, NAN, Gen, channels_last
from ..record import OPS, Op

SIZES = ([4, 6], [2, 3], [5, 4], [1, 1], [3, 7], [1, 5])


def upsample():
    """upsample_nearest2d and upsample_bilinear2d."""
    for name in ("upsample_nearest2d", "upsample_bilinear2d"):
        op, gen = Op(name), Gen(name)
        corners = [{}] if "nearest" in name else [{"align_corners": False}, {"align_corners": True}]
        for corner in corners:
            for i, size in enumerate(SIZES):
                for dtype in ("f32", FLOATS[i % 4]):
                    op.ok(self=gen.normal((1, 2, 2, 3), dtype), output_size=size, **corner)
            op.ok(self=gen.normal((1, 2, 2, 3)), output_size=[4, 6], scales_h=2.0, scales_w=2.0, **corner)
            op.ok(self=gen.normal((1, 2, 3, 4)), output_size=[4, 6], scales_h=1.5, scales_w=1.6, **corner)
            op.ok(self=gen.normal((1, 2, 3, 4)), output_size=[5, 2], scales_h=1.9, scales_w=0.6, **corner)
            op.ok(self=gen.normal((1, 1, 1, 1)), output_size=[2, 2], **corner)
            op.ok(self=gen.normal((0, 2, 2, 3)), output_size=[4, 6], **corner)
            for layout in (*LAYOUTS, channels_last):
                op.ok(self=layout(gen.normal((2, 3, 2, 3))), output_size=[3, 5], **corner)
            x = gen.normal((1, 1, 2, 3))
            x.view(-1)[4] = NAN
            op.ok(self=x, output_size=[4, 6], **corner)
            op.bad(self=gen.normal((1, 2, 2, 3)), output_size=[4], **corner)
            op.bad(self=gen.normal((1, 2, 2, 3)), output_size=[0, 4], **corner)
            op.bad(self=gen.normal((2, 2, 3)), output_size=[4, 4], **corner)
    OPS["upsample_nearest2d"].ok(self=gen.ints((1, 1, 2, 2), "u8"), output_size=[3, 4])


def grid_sampler():
    """grid_sampler_2d: every mode and padding. f16 in f32, since the CPU's kernel is wrong there."""
    op, gen = Op("grid_sampler_2d", once=True), Gen("grid_sampler_2d")
    for mode in (0, 1, 2):
        for padding in (0, 1, 2):
            for corners in (False, True):
                options = {"interpolation_mode": mode, "padding_mode": padding, "align_corners": corners}
                for dtype in ("f32", "f64"):
                    places = gen.uniform((2, 3, 2, 2), dtype, -2.5, 2.5)
                    op.ok(input=gen.normal((2, 2, 4, 5), dtype), grid=places, **options)
                op.ok(input=gen.normal((1, 1, 1, 1)), grid=gen.uniform((1, 2, 2, 2), "f32", -1, 1), **options)
    options = {"interpolation_mode": 0, "padding_mode": 0, "align_corners": False}
    op.ok(input=gen.normal((0, 2, 3, 3)), grid=gen.normal((0, 2, 2, 2)), **options)
    for layout in LAYOUTS:
        op.ok(input=layout(gen.normal((2, 2, 4, 5))), grid=layout(gen.uniform((2, 3, 2, 2), "f32", -1, 1)), **options)
    op.bad(input=gen.normal((2, 2, 4, 5)), grid=gen.normal((1, 3, 2, 2)), **options)
    op.bad(input=gen.normal((2, 2, 4, 5)), grid=gen.normal((2, 3, 2, 3)), **options)
    op.bad(input=gen.normal((2, 4, 5)), grid=gen.normal((2, 3, 2, 2)), **options)


def col2im():
    """col2im."""
    op, gen = Op("col2im"), Gen("col2im")
    plain = {"output_size": [4, 5], "kernel_size": [2, 2], "dilation": [1, 1], "padding": [0, 0], "stride": [1, 1]}
    for i, (shape, option) in enumerate(
        (
            ((1, 8, 12), {}),
            ((1, 12, 8), {"kernel_size": [3, 2]}),
            ((1, 8, 8), {"dilation": [2, 1]}),
            ((1, 8, 40), {"padding": [1, 2]}),
            ((1, 8, 8), {"stride": [2, 1]}),
            ((1, 18, 6), {"kernel_size": [3, 3], "padding": [1, 1], "stride": [2, 2]}),
            ((1, 2, 20), {"kernel_size": [1, 1]}),
            ((8, 12), {}),
            ((0, 8, 12), {}),
        )
    ):
        for dtype in ("f32", FLOATS[i % 4]):
            op.ok(self=gen.normal(shape, dtype), **{**plain, **option})
    for layout in LAYOUTS:
        op.ok(self=layout(gen.normal((2, 4, 12))), **plain)
    op.bad(self=gen.normal((1, 8, 11)), **plain)
    op.bad(self=gen.normal((1, 7, 12)), **plain)
    op.bad(self=gen.normal((1, 8, 12)), **{**plain, "stride": [0, 1]})


def im2col():
    """im2col."""
    op, gen = Op("im2col"), Gen("im2col")
    plain = {"kernel_size": [2, 2], "dilation": [1, 1], "padding": [0, 0], "stride": [1, 1]}
    for i, option in enumerate(
        (
            {},
            {"kernel_size": [3, 2]},
            {"dilation": [2, 1]},
            {"padding": [1, 2]},
            {"stride": [2, 1]},
            {"kernel_size": [3, 3], "padding": [1, 1], "stride": [2, 2]},
            {"kernel_size": [1, 1]},
        )
    ):
        for dtype in ("f32", FLOATS[i % 4]):
            op.ok(self=gen.normal((1, 2, 4, 5), dtype), **{**plain, **option})
    op.ok(self=gen.normal((2, 4, 5)), **plain)
    op.ok(self=gen.normal((0, 2, 4, 5)), **plain)
    for layout in (*LAYOUTS, channels_last):
        op.ok(self=layout(gen.normal((2, 3, 3, 3))), **plain)
    op.bad(self=gen.normal((1, 2, 4, 5)), **{**plain, "kernel_size": [9, 9]})
    op.bad(self=gen.normal((1, 2, 4, 5)), **{**plain, "stride": [0, 1]})
    op.bad(self=gen.normal((4, 5)), **plain)


def pixel_shuffle():
    """pixel_shuffle."""
    op, gen = Op("pixel_shuffle"), Gen("pixel_shuffle")
    for dtype in FLOATS + ("i64", "u8"):
        op.ok(self=gen.values((1, 8, 2, 3), dtype), upscale_factor=2)
    op.ok(self=gen.normal((9, 1, 2)), upscale_factor=3)
    op.ok(self=gen.normal((2, 2, 4, 2, 2)), upscale_factor=2)
    op.ok(self=gen.normal((1, 3, 2, 2)), upscale_factor=1)
    op.ok(self=gen.normal((0, 4, 2, 2)), upscale_factor=2)
    for layout in (*LAYOUTS, channels_last):
        op.ok(self=layout(gen.normal((2, 4, 2, 2))), upscale_factor=2)
    op.bad(self=gen.normal((1, 6, 2, 2)), upscale_factor=2)
    op.bad(self=gen.normal((4, 2)), upscale_factor=2)
    op.bad(self=gen.normal((1, 4, 2, 2)), upscale_factor=0)


def cases():
    """Every case of this file."""
    upsample()
    im2col()
    col2im()
    grid_sampler()
    pixel_shuffle()
