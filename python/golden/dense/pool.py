"""Pooling."""

import torch

from ..inputs import FLOATS, INF, LAYOUTS, NAN, Gen, channels_last, tensor
from ..record import Op

INPUT = {1: (7,), 2: (5, 6), 3: (3, 4, 5)}
KERNEL = {1: [3], 2: [2, 3], 3: [2, 2, 3]}


def common_options(n):
    """The option sets of average and maximum pooling."""
    kernel = KERNEL[n]
    return [
        {"kernel_size": kernel},
        {"kernel_size": [2]},
        {"kernel_size": kernel, "stride": [1] * n},
        {"kernel_size": kernel, "stride": [2] * n, "padding": [1] * n},
        {"kernel_size": kernel, "ceil_mode": True},
        {"kernel_size": [3], "stride": [2], "padding": [1], "ceil_mode": True},
        {"kernel_size": kernel, "stride": [2], "padding": [1], "ceil_mode": True},
        {"kernel_size": [2], "stride": [3], "ceil_mode": True},
        {"kernel_size": [1], "stride": [2]},
    ]


def average_options(n):
    """Those of avg_pool alone."""
    kernel = KERNEL[n]
    sets = [
        {"kernel_size": kernel, "padding": [1] * n, "count_include_pad": False},
        {"kernel_size": kernel, "stride": [2], "padding": [1], "ceil_mode": True, "count_include_pad": False},
        {"kernel_size": [3], "stride": [2], "padding": [1], "ceil_mode": True, "count_include_pad": True},
    ]
    if n > 1:
        sets += [
            {"kernel_size": kernel, "divisor_override": 5},
            {"kernel_size": kernel, "padding": [1] * n, "count_include_pad": False, "divisor_override": -2},
        ]
    return sets


def maximum_options(n):
    """Those of max_pool alone."""
    return [
        {"kernel_size": [2], "dilation": [2]},
        {"kernel_size": [2], "stride": [1], "padding": [1], "dilation": [2]},
        {"kernel_size": KERNEL[n][:1], "stride": [2], "padding": [1], "dilation": [1], "ceil_mode": True},
    ]


def edges(op, gen, n):
    """Unbatched and empty inputs, layouts, special values, refused calls."""
    kernel, shape = KERNEL[n], INPUT[n]
    op.ok(self=gen.normal((2, *shape)), kernel_size=kernel)
    op.ok(self=gen.normal((0, 2, *shape)), kernel_size=kernel)
    for layout in LAYOUTS:
        op.ok(self=layout(gen.distinct((2, 2, *shape))), kernel_size=kernel, padding=[1] * n)
    if n == 2:
        op.ok(self=channels_last(gen.distinct((2, 3, *shape))), kernel_size=kernel)
    x = gen.distinct((1, 2, *shape))
    x.view(-1)[::7] = NAN
    x.view(-1)[1::9] = -INF
    x.view(-1)[2::11] = INF
    op.ok(self=x, kernel_size=kernel, note="ties" if "indices" in op.name else None)
    op.ok(self=x, kernel_size=kernel, stride=[1], padding=[1], note="ties" if "indices" in op.name else None)
    op.ok(self=x.bfloat16(), kernel_size=kernel, note="ties" if "indices" in op.name else None)
    x = gen.normal((1, 2, *shape))
    op.bad(self=x, kernel_size=[99])
    op.bad(self=x, kernel_size=[2], padding=[2])
    op.bad(self=x, kernel_size=[0])
    op.bad(self=x, kernel_size=[2], stride=[0])
    op.bad(self=gen.normal(shape[1:]), kernel_size=kernel)


def avg_pool3d(self, **args):
    """avg_pool3d; f16 and bf16, which the processor lacks, in f32 and rounded once."""
    low = self.dtype in (torch.float16, torch.bfloat16)
    return torch.ops.aten.avg_pool3d(self=self.float() if low else self, **args).to(self.dtype)


def pools():
    """avg_pool and max_pool of 1 to 3 dimensions, and those with indices."""
    for n in (1, 2, 3):
        for name in (f"avg_pool{n}d", f"max_pool{n}d") + ((f"max_pool{n}d_with_indices",) if n > 1 else ()):
            op, gen = Op(name, avg_pool3d if name == "avg_pool3d" else None), Gen(name)
            own = average_options(n) if name.startswith("avg") else maximum_options(n)
            for i, option in enumerate(common_options(n) + own):
                for dtype in ("f32", FLOATS[i % 4]):
                    op.ok(self=gen.distinct((1, 2, *INPUT[n]), dtype, 0.125), **option)
            if "indices" in name:
                op.ok(self=gen.grid((1, 2, *[4] * n), n=1), kernel_size=[2] * n, note="ties")
            else:
                op.ok(self=tensor([-0.0, 0.0] * 2 ** (n - 1)).reshape(1, 1, *[2] * n), kernel_size=[2])
            edges(op, gen, n)


def adaptive():
    """Adaptive pooling."""
    sizes = {1: [[1], [2], [3], [7], [9]], 3: [[1, 1, 1], [2, 3, 2], [3, 4, 5], [4, 5, 6]], 2: [[1, 1], [2, 3], [5, 6], [3, 4], [6, 7], [4, 1]]}
    for name, n in (("adaptive_avg_pool1d", 1), ("adaptive_avg_pool2d", 2), ("adaptive_avg_pool3d", 3), ("adaptive_max_pool2d", 2)):
        op, gen = Op(name), Gen(name)
        for i, size in enumerate(sizes[n]):
            for dtype in ("f32", FLOATS[i % 4]):
                op.ok(self=gen.distinct((1, 2, *INPUT[n]), dtype, 0.125), output_size=size)
        size = sizes[n][1]
        op.ok(self=gen.distinct((2, *INPUT[n])), output_size=size)
        op.ok(self=gen.normal((0, 2, *INPUT[n])), output_size=size)
        for layout in LAYOUTS:
            op.ok(self=layout(gen.distinct((2, 2, *INPUT[n]))), output_size=size)
        if n == 2:
            op.ok(self=channels_last(gen.distinct((2, 3, *INPUT[n]))), output_size=size)
        x = gen.distinct((1, 2, *INPUT[n]))
        x.view(-1)[3] = NAN
        x.view(-1)[-1] = INF
        op.ok(self=x, output_size=size)
        op.bad(self=gen.normal(INPUT[n][1:]), output_size=size)
        op.bad(self=gen.normal((1, 2, *INPUT[n])), output_size=[-1] * n)


def cases():
    """Every case of this file."""
    pools()
    adaptive()
