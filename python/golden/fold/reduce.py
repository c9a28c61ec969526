"""Reductions to one value."""

from ..inputs import DTYPES, FLOATS, INF, LAYOUTS, NAN, Gen, channels_last, special, tensor
from ..record import Op, aten


def rows_with_nan():
    """Rows with NaN, infinities and signed zeros in different places."""
    return [[NAN, 1.0, 2.0], [1.0, NAN, -INF], [INF, -INF, 0.0], [INF, 1.0, NAN], [-0.0, 0.0, -0.0], [3.0, 3.0, -3.0]]


def one_dim(op, gen, dtypes=FLOATS, dim="dim", scale=1.5):
    """Dims, keepdim, sizes and layouts of an op that folds one dimension."""
    for dtype in dtypes:
        for d, keepdim in ((0, False), (-1, True), (1, False)):
            op.ok(self=values(gen, (2, 3, 4), dtype, scale), **{dim: d}, keepdim=keepdim)
    for d in (0, -1):
        op.ok(self=values(gen, (), "f32", scale), **{dim: d})
    op.ok(self=values(gen, (0, 3), "f32", scale), **{dim: 1})
    op.ok(self=values(gen, (3, 1), "f32", scale), **{dim: 1}, keepdim=True)
    for layout in LAYOUTS:
        op.ok(self=layout(values(gen, (3, 2, 4), "f32", scale)), **{dim: 1})
    op.ok(self=channels_last(values(gen, (2, 3, 2, 2), "f32", scale)), **{dim: 1})
    for dtype in ("f32", "f16", "bf16"):
        op.ok(self=tensor(rows_with_nan(), dtype), **{dim: 1})
    op.bad(self=gen.normal((2, 3)), **{dim: 2})
    op.bad(self=gen.normal((2, 3)), **{dim: -3})
    op.bad(self=gen.normal(()), **{dim: 1})


def values(gen, shape, dtype, scale=1.5):
    """Random floats or integers."""
    return gen.normal(shape, dtype, scale) if dtype in FLOATS else gen.ints(shape, dtype)


def dim_lists(op, gen, dtypes=FLOATS, **options):
    """Lists of dims, all dims, keepdim, sizes and layouts."""
    for dtype in dtypes:
        op.ok(self=values(gen, (2, 3, 4), dtype), dim=[0, 2], **options)
        op.ok(self=values(gen, (2, 3, 4), dtype), dim=[-1], keepdim=True, **options)
    for dims in ([1], [0, 1, 2], [-3, -1], [2, 0]):
        op.ok(self=values(gen, (2, 3, 4), dtypes[0]), dim=dims, **options)
    op.ok(self=values(gen, (2, 3, 4), dtypes[0]), dim=[1, 2], keepdim=True, **options)
    for dims in ([0], [-1]):
        op.ok(self=values(gen, (), dtypes[0]), dim=dims, **options)
    op.ok(self=values(gen, (0, 3), dtypes[0]), dim=[1], **options)
    op.ok(self=values(gen, (3, 1), dtypes[0]), dim=[1], keepdim=True, **options)
    for layout in LAYOUTS:
        op.ok(self=layout(values(gen, (3, 2, 4), dtypes[0])), dim=[1], **options)
        op.ok(self=layout(values(gen, (3, 2, 4), dtypes[0])), dim=[0, 2], **options)
    op.ok(self=channels_last(values(gen, (2, 3, 2, 2), dtypes[0])), dim=[2, 3], **options)
    op.bad(self=values(gen, (2, 3), dtypes[0]), dim=[2], **options)
    op.bad(self=values(gen, (2, 3), dtypes[0]), dim=[0, -4], **options)
    op.bad(self=values(gen, (2, 3), dtypes[0]), dim=[1, -1], **options)


def none_and_nan(op, gen):
    """No dim, an empty list of dims, and special values."""
    for dims in (None, []):
        op.ok(self=gen.normal((2, 3)), dim=dims)
        op.ok(self=gen.normal((2, 3), "f16"), dim=dims, keepdim=True)
        op.ok(self=gen.normal(()), dim=dims)
    for dtype in ("f32", "f16", "bf16", "f64"):
        op.ok(self=tensor(rows_with_nan(), dtype), dim=[1])


def sums():
    """sum, mean, prod."""
    total = Op("sum", aten("sum.dim_IntList"))
    mean = Op("mean", aten("mean.dim"))
    prod = Op("prod", aten("prod.dim_int"))
    gen = Gen("sums")
    for op in (total, mean):
        dim_lists(op, gen)
        none_and_nan(op, gen)
        for dtype in ("f64", "f32", "f16", "bf16"):
            op.ok(self=gen.normal((3, 4), "f16"), dim=[1], dtype=DTYPES[dtype])
            op.ok(self=gen.ints((3, 4), "i32"), dim=[0], dtype=DTYPES[dtype])
            op.ok(self=gen.normal((3, 4), "f32"), dim=[0], keepdim=True, dtype=DTYPES[dtype])
        op.ok(self=gen.normal((3, 0)), dim=[1])
        op.ok(self=gen.normal((0, 3)), dim=[0])
        op.ok(self=gen.normal((2, 0, 3)), dim=[0, 1], keepdim=True)
        op.ok(self=gen.normal((0,)), dim=None)
        op.ok(self=gen.uniform((2, 60), "f16", 0, 2), dim=[1])
        op.ok(self=gen.uniform((2, 60), "bf16", 0, 2), dim=[1])
    for dtype in ("i64", "i32", "i16", "i8", "u8", "bool"):
        total.ok(self=gen.ints((2, 5), dtype), dim=[1])
        total.ok(self=gen.ints((2, 5), dtype), dim=None)
    total.ok(self=tensor([127, 127, 1], "i8"), dim=[0])
    total.ok(self=tensor([127, 127, 1], "i8"), dim=[0], dtype=DTYPES["i8"])
    total.ok(self=gen.mask((5,)), dim=[0], dtype=DTYPES["f32"])
    total.ok(self=gen.normal((5,), "f32", 4), dim=[0], dtype=DTYPES["i64"])
    total.ok(self=tensor([65504.0, 65504.0, -65504.0], "f16"), dim=[0])
    total.ok(self=tensor([65504.0, 65504.0], "f16"), dim=[0])
    total.ok(self=tensor([-0.0, -0.0]), dim=[0])
    for dtype in ("i64", "i32", "u8", "bool"):
        mean.bad(self=gen.ints((2, 3), dtype), dim=[1])
    mean.bad(self=gen.normal((3,)), dim=[0], dtype=DTYPES["i64"])

    one_dim(prod, gen)
    for dtype in ("i64", "i32", "i8", "u8", "bool"):
        prod.ok(self=gen.ints((2, 4), dtype, 1, None), dim=1)
    prod.ok(self=gen.normal((3, 0)), dim=1)
    prod.ok(self=gen.ints((4,), "i32"), dim=0, dtype=DTYPES["f32"])
    prod.ok(self=gen.normal((4,), "f16"), dim=0, dtype=DTYPES["f32"])
    prod.ok(self=tensor([100, 100], "i8"), dim=0)


def sums_without_nan():
    """nansum."""
    op, gen = Op("nansum"), Gen("nansum")
    dim_lists(op, gen)
    none_and_nan(op, gen)
    for dtype in ("i64", "i32", "i8", "u8", "bool"):
        op.ok(self=gen.ints((2, 5), dtype), dim=[1])
    op.ok(self=tensor([[NAN, NAN], [NAN, 1.0]], "f16"), dim=[1], dtype=DTYPES["f32"])
    op.ok(self=gen.ints((3, 4), "i32"), dim=[0], dtype=DTYPES["f32"])
    op.ok(self=gen.normal((3, 0)), dim=[1])
    op.ok(self=special("f32"))


def both_ends():
    """aminmax."""
    op, gen = Op("aminmax"), Gen("aminmax")
    one_dim(op, gen, FLOATS + ("i64", "i8", "u8", "bool"))
    op.ok(self=gen.normal((2, 3)))
    op.ok(self=gen.normal((2, 3), "f16"), keepdim=True)
    op.ok(self=special("f32"))
    op.bad(self=gen.normal((3, 0)), dim=1)
    op.bad(self=gen.normal((0,)))


def medians():
    """median and median.dim: the lower one."""
    op, dim, gen = Op("median"), Op("median.dim"), Gen("median")
    for dtype in FLOATS + ("i64", "i32", "i8", "u8"):
        x = gen.distinct((3, 6), dtype, 1 if dtype not in FLOATS else 0.25)
        op.ok(self=x)
        for d, keepdim in ((0, False), (1, False), (-1, True)):
            dim.ok(self=x, dim=d, keepdim=keepdim)
    for dtype in ("f32", "f16", "bf16"):
        dim.ok(self=tensor(rows_with_nan(), dtype), dim=1, note="ties")
        op.ok(self=tensor([1.0, NAN, 2.0], dtype))
    for layout in LAYOUTS:
        op.ok(self=layout(gen.distinct((3, 2, 4))))
        dim.ok(self=layout(gen.distinct((3, 2, 4))), dim=1)
    op.ok(self=gen.normal(()))
    op.ok(self=gen.normal((0,)))
    dim.ok(self=gen.normal(()), dim=0)
    dim.ok(self=gen.grid((4, 9), n=2), dim=1, note="ties")
    dim.bad(self=gen.normal((3, 0)), dim=1)
    dim.bad(self=gen.normal((3, 2)), dim=2)
    op.bad(self=gen.mask((3,)))


def extremes():
    """amax, amin."""
    for name in ("amax", "amin"):
        op, gen = Op(name), Gen(name)
        dim_lists(op, gen)
        for dims in ([], [0, 1]):
            op.ok(self=gen.normal((2, 3)), dim=dims)
            op.ok(self=gen.normal((2, 3), "f16"), dim=dims, keepdim=True)
        for dtype in FLOATS:
            op.ok(self=tensor([row for row in rows_with_nan() if row[:2] != [0.0, 0.0]], dtype), dim=[1])
        op.ok(self=gen.normal((2, 3)))
        for dtype in ("i64", "i32", "i8", "u8", "bool"):
            op.ok(self=gen.ints((2, 5), dtype), dim=[1])
        op.ok(self=special("f32"), dim=[0])
        op.ok(self=special("f32")[1:].clone(), dim=[0])
        op.bad(self=gen.normal((3, 0)), dim=[1])
        op.bad(self=gen.normal((0,)))


def truth():
    """any, all, count_nonzero."""
    for name in ("any", "all"):
        full, dim, gen = Op(name), Op(f"{name}.dim"), Gen(name)
        for dtype in FLOATS + ("i64", "i32", "i8", "u8", "bool"):
            x = gen.grid((2, 4), dtype, 1, 1) if dtype in FLOATS else gen.ints((2, 4), dtype, 0, 1)
            full.ok(self=x)
            dim.ok(self=x, dim=1)
            dim.ok(self=x, dim=-2, keepdim=True)
        for x in (
            gen.mask(()),
            gen.mask((0,)),
            gen.mask((0, 3)),
            tensor([0.0, -0.0]),
            tensor([NAN, 0.0]),
            tensor([NAN]),
        ):
            full.ok(self=x)
            dim.ok(self=x, dim=0)
            dim.ok(self=x, dim=-1)
        for layout in LAYOUTS:
            full.ok(self=layout(gen.mask((3, 2, 2))))
            dim.ok(self=layout(gen.mask((3, 2, 2))), dim=1)
        full.ok(self=tensor([1, 2, 3], "u8"))
        dim.bad(self=gen.mask((2, 3)), dim=2)
        dim.bad(self=gen.mask((2, 3)), dim=-3)
    count, gen = Op("count_nonzero", aten("count_nonzero.dim_IntList")), Gen("count_nonzero")
    for dtype in FLOATS + ("i64", "i32", "i8", "u8", "bool"):
        x = gen.grid((2, 3, 3), dtype, 1, 1) if dtype in FLOATS else gen.ints((2, 3, 3), dtype, 0, 1)
        count.ok(self=x, dim=[1])
        count.ok(self=x, dim=[0, -1])
    count.ok(self=tensor([0.0, -0.0, NAN, 1e-45, INF]), dim=[0])
    count.ok(self=gen.mask(()), dim=[0])
    count.ok(self=gen.mask((0, 3)), dim=[0])
    count.ok(self=gen.mask((2, 3)), dim=[])
    for layout in LAYOUTS:
        count.ok(self=layout(gen.grid((3, 2, 2), n=1)), dim=[1])
    count.bad(self=gen.mask((2, 3)), dim=[2])
    count.bad(self=gen.mask((2, 3)), dim=[1, 1])


def quantiles():
    """quantile: positions that are elements' and between them; every interpolation."""
    op, gen = Op("quantile"), Gen("quantile")
    ways = ("linear", "lower", "higher", "midpoint", "nearest")
    for dtype in ("f32", "f64"):
        q = tensor([0.0, 0.25, 0.5, 0.625, 1.0], dtype)
        for way in ways:
            op.ok(self=gen.distinct((3, 6), dtype), q=q, interpolation=way)
            op.ok(self=gen.distinct((3, 7), dtype), q=q, dim=1, interpolation=way)
            op.ok(self=gen.distinct((2, 5, 4), dtype), q=q[3], dim=-2, keepdim=True, interpolation=way)
            op.ok(self=gen.normal((4, 9), dtype), q=tensor([0.3, 0.71, 0.99], dtype), dim=0, interpolation=way)
    for way in ways:
        rows = [[NAN, 1.0, 2.0, 0.5, 3.0], [INF, 1.0, 2.0, 0.5, 3.0], [-INF, -INF, 1.0, 2.0, INF], [-0.0, 0.0, 0.0, -0.0, 0.0]]
        op.ok(self=tensor(rows), q=tensor([0.0, 0.125, 0.3, 0.5, 0.7, 1.0]), dim=1, interpolation=way)
        op.ok(self=gen.grid((4, 9), n=2), q=tensor([0.5, 0.8]), dim=1, interpolation=way)
        # The nearest f32 to 0.1 is above it, and its product with 10 is 10 times 0.1 in f32.
        q = tensor([0.1, 0.9])
        op.ok(self=gen.distinct((11,)), q=q, interpolation=way, instead={"q": tensor([0.1, 0.9], "f64")})
    for shape, dim in (((5,), 0), ((5,), None), ((3, 4), None), ((3, 4), 0), ((3, 4), -1), ((), None), ((), 0), ((), -1), ((1, 1), 1)):
        for keepdim in (False, True):
            for q in (tensor(0.5), tensor([0.25]), tensor([0.25, 0.75, 0.5])):
                op.ok(self=gen.normal(shape), q=q, dim=dim, keepdim=keepdim)
    op.ok(self=gen.normal((3, 4)), q=tensor([]), dim=1)
    for layout in LAYOUTS:
        op.ok(self=layout(gen.normal((3, 2, 4))), q=layout(tensor([0.5, 0.125])), dim=1)
    op.bad(self=gen.normal((3,), "f16"), q=tensor(0.5, "f16"))
    op.bad(self=gen.normal((3,), "bf16"), q=tensor(0.5, "bf16"))
    op.bad(self=gen.ints((3,)), q=tensor(0.5))
    op.bad(self=gen.normal((3,)), q=tensor(0.5, "f64"))
    op.bad(self=gen.normal((3,)), q=tensor([[0.5]]))
    op.bad(self=gen.normal((0,)), q=tensor(0.5))
    op.bad(self=gen.normal((0, 3)), q=tensor(0.5), dim=1)
    op.bad(self=gen.normal((3, 4)), q=tensor(0.5), dim=2)
    op.bad(self=gen.normal((3, 4)), q=tensor(0.5), interpolation="cubic")
    for value in (1.5, -0.5, NAN):
        op.bad(self=gen.normal((3,)), q=tensor([0.5, value]), note="values")


def truth_lists():
    """any.dims, all.dims."""
    for name in ("any.dims", "all.dims"):
        op, gen = Op(name), Gen(name)
        for dtype in FLOATS + ("i64", "i8", "u8", "bool"):
            x = gen.grid((2, 3, 4), dtype, 1, 1) if dtype in FLOATS else gen.ints((2, 3, 4), dtype, 0, 1)
            for dims in (None, [], [0], [-1, 0], [0, 1, 2]):
                op.ok(self=x, dim=dims)
                op.ok(self=x, dim=dims, keepdim=True)
        op.ok(self=gen.mask((3, 0)), dim=[1])
        op.ok(self=gen.mask((3, 0)), dim=[0])
        op.ok(self=gen.mask(()), dim=[0])
        op.ok(self=tensor([[NAN, 0.0], [0.0, -0.0]]), dim=[1])
        for layout in LAYOUTS:
            op.ok(self=layout(gen.grid((3, 2, 4), "f32", 1, 1)), dim=[0, 2])
        op.bad(self=gen.mask((2, 3)), dim=[2])
        op.bad(self=gen.mask((2, 3)), dim=[1, -1])


def spread():
    """var, var_mean, std."""
    for name in ("var", "var_mean", "std", "std_mean"):
        op, gen = Op(name, aten(f"{name}.correction")), Gen(name)
        dim_lists(op, gen)
        none_and_nan(op, gen)
        for correction in (0, 1, 2, 0.5):
            op.ok(self=gen.normal((3, 4)), dim=[1], correction=correction)
            op.ok(self=gen.normal((3, 4), "f16"), dim=[0], correction=correction, keepdim=True)
        op.ok(self=gen.normal((2, 3)))
        op.ok(self=gen.normal((3, 1)), dim=[1])
        op.ok(self=gen.normal((3, 1)), dim=[1], correction=0)
        op.ok(self=gen.normal((2, 2)), dim=[1], correction=3)
        op.ok(self=gen.normal((2, 0)), dim=[1])
        op.ok(self=gen.normal((2, 6), "f32", 0.01, 1000.0), dim=[1])
        op.ok(self=gen.normal((2, 6), "f64", 0.01, 1000.0), dim=[1])
        op.bad(self=gen.ints((2, 3)), dim=[1])


def norms():
    """vector_norm."""
    op, gen = Op("vector_norm", aten("linalg_vector_norm")), Gen("vector_norm")
    dim_lists(op, gen)
    for order in (0, 1, 2, 3, 0.5, -1, -2, INF, -INF, 2.5):
        op.ok(self=gen.normal((3, 4)), ord=order, dim=[1])
        op.ok(self=gen.normal((3, 4), "f16"), ord=order, dim=[-2], keepdim=True)
        op.ok(self=tensor(rows_with_nan()), ord=order, dim=[1])
        op.ok(self=gen.normal(()), ord=order)
    op.ok(self=gen.normal((2, 3)))
    op.ok(self=gen.normal((2, 3)), ord=1, keepdim=True)
    op.ok(self=gen.normal((2, 0)), dim=[1])
    op.ok(self=gen.normal((2, 0)), ord=0, dim=[1])
    op.ok(self=gen.normal((0,)))
    op.ok(self=gen.normal((5,), "f16"), dtype=DTYPES["f32"])
    op.ok(self=gen.normal((5,), "bf16"), dtype=DTYPES["f64"])
    op.ok(self=tensor([300.0, 300.0, 300.0], "f16"))
    op.bad(self=gen.normal((2, 0)), ord=INF, dim=[1])
    op.bad(self=gen.normal((2, 0)), ord=-1, dim=[1])
    op.bad(self=gen.ints((3,)))


def logsumexp():
    """logsumexp."""
    op, gen = Op("logsumexp"), Gen("logsumexp")
    dim_lists(op, gen)
    for dtype in FLOATS:
        op.ok(self=tensor(rows_with_nan(), dtype), dim=[1])
    op.ok(self=gen.normal(()), dim=[0])
    op.ok(self=tensor([[-INF, -INF], [INF, 1.0], [-INF, 2.0], [1000.0, 1000.0], [-1000.0, -999.0]]), dim=[1])
    op.ok(self=gen.normal((2, 0)), dim=[1])
    op.ok(self=gen.ints((2, 3), "i64"), dim=[1])
    op.ok(self=gen.ints((2, 3), "i32"), dim=[0])


def cases():
    """Every case of this file."""
    sums()
    sums_without_nan()
    both_ends()
    medians()
    quantiles()
    truth_lists()
    extremes()
    truth()
    spread()
    norms()
    logsumexp()
