"""Normalisations.

Statistics of f16 and bf16 inputs are only dumped with f32 weights, where they are f32 on every device.
"""

import torch

from ..inputs import FLOATS, INF, LAYOUTS, NAN, Gen, channels_last, tensor
from ..record import Op

LOW = ("f16", "bf16")


def rows(dtype="f32"):
    """Rows with special values, one with equal ones, one of small ones."""
    return tensor(
        [
            [NAN, 1.0, 2.0, 0.5],
            [INF, 1.0, 2.0, 3.0],
            [-0.0, 0.0, 0.0, -0.0],
            [2.0, 2.0, 2.0, 2.0],
            [1e-3, -2e-3, 3e-3, 1e-3],
        ],
        dtype,
    )


def layer_norm():
    """layer_norm and native_layer_norm."""
    op, native, gen = Op("layer_norm"), Op("native_layer_norm"), Gen("layer_norm")

    def both(x, shape, weight=None, bias=None, eps=1e-5, stats=True):
        op.ok(input=x, normalized_shape=shape, weight=weight, bias=bias, eps=eps)
        if stats:
            native.ok(input=x, normalized_shape=shape, weight=weight, bias=bias, eps=eps)

    for dtype in FLOATS:
        stats = dtype not in LOW
        both(gen.normal((3, 8), dtype), [8], stats=stats)
        both(gen.normal((2, 3, 4), dtype), [4], gen.normal((4,), dtype), gen.normal((4,), dtype), stats=stats)
        both(gen.normal((2, 3, 4), dtype), [3, 4], gen.normal((3, 4), dtype), stats=stats)
        both(gen.normal((2, 3, 4), dtype), [3, 4], None, gen.normal((3, 4), dtype), 0.1, stats=stats)
        both(rows(dtype), [4], stats=stats)
    for dtype in LOW:
        both(gen.normal((2, 5), dtype), [5], gen.normal((5,)), gen.normal((5,)))
        both(rows(dtype), [4], gen.normal((4,)), gen.normal((4,)), 1e-3)
    both(gen.normal((3, 1)), [1])
    both(gen.normal((0, 4)), [4], gen.normal((4,)))
    both(gen.normal((4,)), [4])
    both(gen.normal((2, 6), "f32", 0.5, 10.0), [6])
    for layout in LAYOUTS:
        both(layout(gen.normal((3, 2, 4))), [4], gen.normal((4,)), gen.normal((4,)))
    both(channels_last(gen.normal((2, 3, 2, 2))), [3, 2, 2])
    for bad in (
        {"normalized_shape": [3]},
        {"normalized_shape": [4], "weight": gen.normal((3,))},
        {"normalized_shape": []},
        {"normalized_shape": [4], "bias": gen.normal((2, 4))},
    ):
        op.bad(input=gen.normal((2, 4)), **bad)
        native.bad(input=gen.normal((2, 4)), **{"weight": None, "bias": None, "eps": 1e-5, **bad})


def group_norm():
    """group_norm and native_group_norm."""
    op, native, gen = Op("group_norm"), Op("native_group_norm"), Gen("group_norm")

    def both(x, groups, weight=None, bias=None, eps=1e-5, stats=True):
        op.ok(input=x, num_groups=groups, weight=weight, bias=bias, eps=eps)
        if stats:
            n, c = x.shape[:2]
            hw = x[0, 0].numel() if n else 1
            native.ok(input=x.contiguous(), weight=weight, bias=bias, N=n, C=c, HxW=hw, group=groups, eps=eps)

    for dtype in FLOATS:
        for groups in (1, 2, 4):
            both(gen.normal((2, 4, 3), dtype), groups, stats=dtype not in LOW)
        both(
            gen.normal((2, 4, 2, 2), dtype), 2, gen.normal((4,), dtype), gen.normal((4,), dtype), stats=dtype not in LOW
        )
        both(gen.normal((2, 4, 3), dtype), 2, gen.normal((4,), dtype), None, 0.01, stats=dtype not in LOW)
    for dtype in LOW:
        both(gen.normal((2, 4, 3), dtype), 2, gen.normal((4,)), gen.normal((4,)))
    both(gen.normal((3, 4)), 2)
    both(gen.normal((1, 4, 1)), 4)
    both(rows().reshape(1, 5, 4), 5)
    for layout in LAYOUTS:
        op.ok(input=layout(gen.normal((3, 4, 2))), num_groups=2, weight=gen.normal((4,)))
    op.ok(input=channels_last(gen.normal((2, 4, 2, 2))), num_groups=2, bias=gen.normal((4,)))
    op.bad(input=gen.normal((2, 4, 3)), num_groups=3)
    op.bad(input=gen.normal((2, 4, 3)), num_groups=2, weight=gen.normal((3,)))
    op.bad(input=gen.normal((4,)), num_groups=2)
    native.bad(input=gen.normal((2, 4, 3)), weight=None, bias=None, N=2, C=4, HxW=3, group=3, eps=1e-5)


def instance_norm():
    """instance_norm, with the input's statistics and with given ones. Running statistics are not dumped."""

    def call(running_mean=None, running_var=None, **args):
        kept = (None if t is None else t.clone() for t in (running_mean, running_var))
        return torch.ops.aten.instance_norm(**args, running_mean=next(kept), running_var=next(kept))

    op, gen = Op("instance_norm", call), Gen("instance_norm")
    none = {"running_mean": None, "running_var": None}
    rest = {"use_input_stats": True, "momentum": 0.1, "cudnn_enabled": True}
    for dtype in FLOATS:
        for shape in ((2, 3, 5), (2, 3, 2, 2), (1, 2, 2, 2, 2)):
            op.ok(input=gen.normal(shape, dtype), weight=None, bias=None, eps=1e-5, **none, **rest)
        op.ok(
            input=gen.normal((2, 3, 4), dtype),
            weight=gen.normal((3,), dtype),
            bias=gen.normal((3,), dtype),
            eps=0.01,
            **none,
            **rest
        )
    op.ok(input=rows().reshape(1, 5, 4), weight=None, bias=None, eps=1e-5, **none, **rest)
    given = {"running_mean": gen.normal((3,)), "running_var": gen.uniform((3,), "f32", 0.5, 2)}
    op.ok(input=gen.normal((2, 3, 4)), weight=None, bias=None, eps=1e-5, **given, **{**rest, "use_input_stats": False})
    op.ok(
        input=gen.normal((2, 3, 4)),
        weight=gen.normal((3,)),
        bias=gen.normal((3,)),
        eps=1e-3,
        **given,
        **{**rest, "use_input_stats": False}
    )
    for layout in LAYOUTS:
        op.ok(input=layout(gen.normal((3, 2, 4))), weight=None, bias=gen.normal((2,)), eps=1e-5, **none, **rest)
    op.ok(input=channels_last(gen.normal((2, 3, 2, 2))), weight=None, bias=None, eps=1e-5, **none, **rest)
    op.bad(input=gen.normal((2, 3, 4)), weight=gen.normal((4,)), bias=None, eps=1e-5, **none, **rest)
    op.bad(input=gen.normal((2, 3, 4)), weight=None, bias=None, eps=1e-5, **none, **{**rest, "use_input_stats": False})


def rms_norm():
    """rms_norm. Without eps it is the epsilon of the type computed in: f32 for f16 and bf16."""
    op, gen = Op("rms_norm"), Gen("rms_norm")
    for dtype in FLOATS:
        epsilon = {} if dtype == "f64" else {"eps": torch.finfo(torch.float32).eps}
        op.ok(input=gen.normal((3, 8), dtype), normalized_shape=[8], instead=epsilon)
        op.ok(input=gen.normal((3, 8), dtype, 1e-3), normalized_shape=[8], instead=epsilon)
        op.ok(input=gen.normal((3, 8), dtype), normalized_shape=[8], weight=gen.normal((8,), dtype), eps=1e-6)
        op.ok(input=gen.normal((2, 3, 4), dtype), normalized_shape=[3, 4], weight=gen.normal((3, 4), dtype), eps=0.1)
        op.ok(input=rows(dtype), normalized_shape=[4], eps=1e-5)
    op.ok(input=gen.normal((3, 1)), normalized_shape=[1], eps=1e-5)
    op.ok(input=gen.normal((0, 4)), normalized_shape=[4], eps=1e-5)
    op.ok(input=tensor([[0.0, 0.0]]), normalized_shape=[2], eps=0.0)
    for layout in LAYOUTS:
        op.ok(input=layout(gen.normal((3, 2, 4))), normalized_shape=[4], weight=gen.normal((4,)), eps=1e-5)
    op.bad(input=gen.normal((2, 4)), normalized_shape=[3])
    op.bad(input=gen.normal((2, 4)), normalized_shape=[4], weight=gen.normal((3,)))


def used_statistics(mean, var, eps):
    """The statistics that CUDA's kernels return beside a tensor normalised with given ones; the CPU's return none."""
    dtype = torch.float64 if mean.dtype == torch.float64 else torch.float32
    mean, var = mean.to(torch.float64), var.to(torch.float64)
    return [mean.to(dtype), (1 / torch.sqrt(var + eps)).to(dtype)]


def native_batch_norm(**args):
    """aten.native_batch_norm with the running statistics it leaves behind as further outputs, when given."""
    running = [args.get("running_mean"), args.get("running_var")]
    args["running_mean"], args["running_var"] = updated = [None if t is None else t.clone() for t in running]
    out, *saved = torch.ops.aten.native_batch_norm(**args)
    if not args["training"]:
        saved = used_statistics(*running, args["eps"])
    return [out, *saved, *(t for t in updated if t is not None)]


def batch_norm_inference(**args):
    """aten._native_batch_norm_legit_no_training with the statistics that were used."""
    out, *_ = torch.ops.aten._native_batch_norm_legit_no_training(**args)
    return [out, *used_statistics(args["running_mean"], args["running_var"], args["eps"])]


def batch_norm():
    """native_batch_norm and batch_norm_inference."""
    op, gen = Op("native_batch_norm", native_batch_norm), Gen("batch_norm")
    inference = Op("batch_norm_inference", batch_norm_inference)

    def statistics(c, dtype):
        return {"running_mean": gen.normal((c,), dtype), "running_var": gen.uniform((c,), dtype, 0.5, 2)}

    def affine(c, dtype):
        return {"weight": gen.normal((c,), dtype), "bias": gen.normal((c,), dtype)}

    plain = {"weight": None, "bias": None}
    for dtype in FLOATS:
        kept = "f32" if dtype in LOW else dtype
        for shape in ((4, 3), (2, 3, 4), (2, 3, 2, 2), (1, 3, 2, 1, 2)):
            x = gen.normal(shape, dtype)
            op.ok(input=x, **affine(3, kept), **statistics(3, kept), training=True, momentum=0.1, eps=1e-5)
            inference.ok(input=x, **affine(3, kept), **statistics(3, kept), momentum=0.1, eps=1e-5)
        x = gen.normal((2, 3, 4), dtype)
        op.ok(input=x, **affine(3, kept), running_mean=None, running_var=None, training=True, momentum=0.1, eps=1e-3)
        op.ok(input=x, **affine(3, kept), **statistics(3, kept), training=True, momentum=0.7, eps=0.01)
        op.ok(input=x, **affine(3, kept), **statistics(3, kept), training=False, momentum=0.1, eps=1e-5)
        inference.ok(input=x, **affine(3, kept), **statistics(3, kept), momentum=0.5, eps=0.01)
    op.ok(input=gen.normal((2, 3, 4)), **plain, **statistics(3, "f32"), training=True, momentum=0.1, eps=1e-5)
    op.ok(input=gen.normal((2, 3, 4)), **plain, **statistics(3, "f32"), training=True, momentum=0.0, eps=1e-5)
    op.ok(input=gen.normal((2, 3, 4)), **plain, **statistics(3, "f32"), training=True, momentum=1.0, eps=1e-5)
    inference.ok(input=gen.normal((2, 3, 4)), **plain, **statistics(3, "f32"), momentum=0.1, eps=1e-5)
    inference.ok(
        input=gen.normal((2, 3, 4)), weight=gen.normal((3,)), bias=None, **statistics(3, "f32"), momentum=0.1, eps=1e-5
    )
    inference.ok(
        input=gen.normal((2, 3)), weight=None, bias=gen.normal((3,)), **statistics(3, "f32"), momentum=0.1, eps=1e-5
    )
    special = rows().reshape(1, 5, 4)
    op.ok(input=special, **plain, **statistics(5, "f32"), training=True, momentum=0.1, eps=1e-5)
    inference.ok(input=special, **plain, **statistics(5, "f32"), momentum=0.1, eps=1e-5)
    # Not a variance of 0 without eps: the CPU takes 0 * Inf for the summand, the GPU has none.
    inference.ok(
        input=gen.normal((2, 2)),
        **plain,
        running_mean=tensor([0.0, 0.0]),
        running_var=tensor([0.25, -1.0]),
        momentum=0.1,
        eps=0.0
    )
    for layout in LAYOUTS:
        x = layout(gen.normal((3, 2, 4)))
        op.ok(input=x, **affine(2, "f32"), **statistics(2, "f32"), training=True, momentum=0.1, eps=1e-5)
        inference.ok(input=x, **affine(2, "f32"), **statistics(2, "f32"), momentum=0.1, eps=1e-5)
    x = channels_last(gen.normal((2, 3, 2, 2)))
    op.ok(input=x, **affine(3, "f32"), **statistics(3, "f32"), training=True, momentum=0.1, eps=1e-5)
    inference.ok(input=x, **affine(3, "f32"), **statistics(3, "f32"), momentum=0.1, eps=1e-5)
    # A channel count other than that of the weights is not checked by torch, so it is not dumped.
    inference.bad(input=gen.normal((3,)), **plain, **statistics(3, "f32"), momentum=0.1, eps=1e-5)
    op.bad(input=gen.normal((3,)), **plain, **statistics(3, "f32"), training=True, momentum=0.1, eps=1e-5)


def normalize(self, p=2.0, dim=1, eps=1e-12):
    """self / max(norm(self, p, dim), eps); f16 and bf16 are computed in f32 and rounded once."""
    x = self.float() if self.dtype in (torch.float16, torch.bfloat16) else self
    return torch.nn.functional.normalize(x, p=p, dim=dim, eps=eps).to(self.dtype)


def normalisation():
    """normalize."""
    op, gen = Op("normalize", normalize), Gen("normalize")
    for dtype in FLOATS:
        op.ok(self=gen.normal((3, 4), dtype))
        op.ok(self=gen.normal((2, 3, 4), dtype), p=1.0, dim=-1)
        op.ok(self=gen.normal((2, 3, 4), dtype), p=3.0, dim=0)
        op.ok(self=gen.normal((2, 3, 4), dtype), p=INF, dim=2)
        op.ok(self=rows(dtype))
    op.ok(self=tensor([[0.0, 0.0], [1e-13, 0.0]]))
    op.ok(self=gen.normal((3, 4), "f32", 0.1), eps=0.5)
    op.ok(self=gen.normal((4,)), dim=0)
    op.ok(self=gen.normal((0, 4)))
    op.ok(self=gen.normal(()), dim=0)
    for layout in LAYOUTS:
        op.ok(self=layout(gen.normal((3, 2, 4))))
    op.bad(self=gen.normal((4,)))
    op.bad(self=gen.ints((2, 3)))


def weight_norm():
    """_weight_norm_interface: the first or the last dimension is kept."""
    def call(v, g, dim=0):
        """The kernel, which takes both as contiguous, of tensors that are."""
        return torch.ops.aten._weight_norm_interface(v.contiguous(), g.contiguous(), dim)

    op, gen = Op("_weight_norm_interface", call, once=True), Gen("_weight_norm_interface")

    def factors(shape, dim):
        return tuple(extent if at == dim % len(shape) else 1 for at, extent in enumerate(shape))

    for dtype in FLOATS:
        for shape, dim in (((3, 4), 0), ((3, 4), 1), ((2, 3, 5), 0), ((2, 3, 5), 2), ((5, 1), 0), ((1, 7), 1), ((4,), 0)):
            op.ok(v=gen.normal(shape, dtype), g=gen.normal(factors(shape, dim), dtype), dim=dim)
        op.ok(v=rows(dtype), g=gen.normal((5, 1), dtype), dim=0)
        op.ok(v=rows(dtype), g=gen.normal((1, 4), dtype), dim=1)
    op.ok(v=gen.normal((3, 4)), g=gen.normal((3, 1)))
    op.ok(v=gen.normal((2, 3, 2, 5)), g=tensor([[[[NAN]]], [[[INF]]]]))
    op.ok(v=gen.normal((3, 4)), g=tensor([[0.0], [-0.0], [-INF]]))
    op.ok(v=tensor([[300.0] * 8, [1e-3] * 8, [0.0] * 8], "f16"), g=tensor([[2.0], [3.0], [0.0]], "f16"), dim=0)
    op.ok(v=gen.normal((3, 0)), g=gen.normal((3, 1)), dim=0)
    for layout in LAYOUTS:
        op.ok(v=layout(gen.normal((3, 2, 4))), g=gen.normal((3, 1, 1)), dim=0)
        op.ok(v=layout(gen.normal((3, 2, 4))), g=gen.normal((1, 1, 4)), dim=2)
    op.bad(v=gen.normal((2, 3, 4)), g=gen.normal((1, 3, 1)), dim=1)
    op.bad(v=gen.normal((2, 3, 4)), g=gen.normal((1, 1, 4)), dim=-1)
    op.bad(v=gen.normal((2, 3)), g=gen.normal((2, 1)), dim=2)
    op.bad(v=gen.normal(()), g=gen.normal(()), dim=0)
    op.bad(v=gen.ints((2, 3)), g=gen.ints((2, 1)), dim=0)
    op.bad(v=gen.normal((2, 3), "bf16"), g=gen.normal((2, 1)), dim=0)


def cases():
    """Every case of this file."""
    layer_norm()
    group_norm()
    instance_norm()
    rms_norm()
    batch_norm()
    normalisation()
    weight_norm()
