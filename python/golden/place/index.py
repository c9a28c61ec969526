"""Ops that read or write at given positions. Where writes collide and the result is not defined, there is no case."""

from ..inputs import FLOATS, INF, LAYOUTS, NAN, Gen, tensor
from ..record import Op, aten

DTYPES_MOVED = FLOATS + ("i64", "i32", "i8", "u8", "bool")


def permutation(gen, n, k):
    """k different positions below n, in random order."""
    return tensor(gen.random.sample(range(n), k), "i64")


def embedding():
    """embedding."""
    op, gen = Op("embedding"), Gen("embedding")
    for dtype in FLOATS:
        op.ok(weight=gen.normal((6, 3), dtype), indices=gen.ints((4,), "i64", 0, 5))
        op.ok(weight=gen.normal((6, 3), dtype), indices=gen.ints((2, 3), "i32", 0, 5))
    op.ok(weight=gen.normal((6, 3)), indices=gen.ints((4,), "i64", 0, 5), padding_idx=2)
    op.ok(weight=gen.normal((6, 3)), indices=gen.ints((4,), "i64", 0, 5), scale_grad_by_freq=True)
    op.ok(weight=gen.normal((6, 3)), indices=tensor(5, "i64"))
    op.ok(weight=gen.normal((6, 3)), indices=gen.ints((0,), "i64", 0, 5))
    op.ok(weight=gen.normal((6, 0)), indices=gen.ints((2,), "i64", 0, 5))
    op.ok(weight=tensor([[NAN, -0.0], [INF, 1.0]]), indices=tensor([1, 0, 0], "i64"))
    for layout in LAYOUTS:
        op.ok(weight=layout(gen.normal((6, 3))), indices=layout(gen.ints((2, 3), "i64", 0, 5)))
    op.bad(weight=gen.normal((6, 3)), indices=tensor([6], "i64"), note="values")
    op.bad(weight=gen.normal((6, 3)), indices=tensor([-1], "i64"), note="values")
    op.bad(weight=gen.normal((6, 3)), indices=tensor([1.0]))
    op.bad(weight=gen.normal((6,)), indices=tensor([1], "i64"))


def gather():
    """gather."""
    op, gen = Op("gather"), Gen("gather")
    for dtype in DTYPES_MOVED:
        op.ok(self=gen.values((3, 4), dtype), dim=1, index=gen.ints((3, 2), "i64", 0, 3))
        op.ok(self=gen.values((3, 4), dtype), dim=0, index=gen.ints((5, 3), "i64", 0, 2))
    for dim in (0, 1, 2, -1, -3):
        op.ok(self=gen.normal((2, 3, 4)), dim=dim, index=gen.ints((1, 2, 3), "i64", 0, 1))
    op.ok(self=gen.normal((3, 4)), dim=1, index=gen.ints((2, 0), "i64"))
    op.ok(self=gen.normal(()), dim=0, index=tensor(0, "i64"))
    op.ok(self=gen.normal((3,)), dim=0, index=tensor(2, "i64"))
    op.ok(self=gen.normal(()), dim=0, index=tensor([0, 0], "i64"))
    op.ok(self=gen.normal((3, 4)), dim=1, index=gen.ints((3, 2), "i64", 0, 3), sparse_grad=True)
    op.ok(self=tensor([NAN, INF, -0.0]), dim=-1, index=tensor([2, 1, 0, 0], "i64"))
    for layout in LAYOUTS:
        op.ok(self=layout(gen.normal((3, 4))), dim=1, index=layout(gen.ints((3, 4), "i64", 0, 3)))
    op.bad(self=gen.normal((3, 4)), dim=1, index=tensor([[4]], "i64"), note="values")
    op.bad(self=gen.normal((3, 4)), dim=1, index=tensor([[-1]], "i64"), note="values")
    op.bad(self=gen.normal((3, 4)), dim=2, index=tensor([[0]], "i64"))
    op.bad(self=gen.normal((3, 4)), dim=1, index=tensor([0], "i64"))
    op.bad(self=gen.normal((3, 4)), dim=1, index=gen.ints((4, 2), "i64", 0, 1))
    op.bad(self=gen.normal((3, 4)), dim=1, index=tensor([[0.0]]))


def scatters():
    """scatter with a tensor and with a scalar, and scatter_add."""
    src, value, add = Op("scatter.src"), Op("scatter.value"), Op("scatter_add")
    gen = Gen("scatter")
    for dtype in DTYPES_MOVED:
        rows = tensor([gen.random.sample(range(4), 2) for _ in range(3)], "i64")
        src.ok(self=gen.values((3, 4), dtype), dim=1, index=rows, src=gen.values((3, 2), dtype))
        value.ok(self=gen.values((3, 4), dtype), dim=1, index=rows, value=1)
        add.ok(
            self=gen.values((3, 4), dtype), dim=1, index=gen.ints((3, 6), "i64", 0, 3), src=gen.values((3, 6), dtype)
        )
    for dim in (0, -1, -2):
        index = permutation(gen, 3, 2).reshape(*((2, 1) if dim in (0, -2) else (1, 2)))
        src.ok(self=gen.normal((3, 3)), dim=dim, index=index, src=gen.normal((2, 2)))
        value.ok(self=gen.normal((3, 3)), dim=dim, index=index, value=-2.5)
        add.ok(self=gen.normal((3, 3)), dim=dim, index=index, src=gen.normal((2, 2)))
    for v in (NAN, INF, 0.1, 7):
        value.ok(self=gen.normal((3, 3), "f16"), dim=0, index=gen.ints((2, 3), "i64", 0, 2), value=v)
    value.ok(self=gen.ints((3, 3), "i32"), dim=0, index=gen.ints((2, 3), "i64", 0, 2), value=2)
    add.ok(self=tensor([120, 0], "i8"), dim=0, index=tensor([0, 0, 1], "i64"), src=tensor([10, 10, 3], "i8"))
    add.ok(self=tensor([1.0, 2.0]), dim=0, index=tensor([0, 1], "i64"), src=tensor([NAN, INF]))
    for dtype in ("f16", "bf16"):
        add.ok(self=gen.grid((4,), dtype), dim=0, index=gen.ints((8,), "i64", 0, 3), src=gen.grid((8,), dtype))
    empty = gen.ints((0,), "i64")
    src.ok(self=gen.normal((3,)), dim=0, index=empty, src=gen.normal((2,)))
    value.ok(self=gen.normal((3,)), dim=0, index=empty, value=1.0)
    add.ok(self=gen.normal((3,)), dim=0, index=empty, src=gen.normal((2,)))
    zero = tensor(0, "i64")
    src.ok(self=gen.normal(()), dim=0, index=zero, src=gen.normal(()))
    value.ok(self=gen.normal(()), dim=0, index=zero, value=1.0)
    add.ok(self=gen.normal(()), dim=0, index=zero, src=gen.normal(()))
    for layout in LAYOUTS:
        rows = tensor([gen.random.sample(range(4), 4) for _ in range(3)], "i64")
        src.ok(self=layout(gen.normal((3, 4))), dim=1, index=layout(rows), src=layout(gen.normal((3, 4))))
        value.ok(self=layout(gen.normal((3, 4))), dim=1, index=layout(rows), value=1.5)
        add.ok(self=layout(gen.normal((3, 4))), dim=1, index=layout(rows), src=layout(gen.normal((3, 4))))
    for op, rest in ((src, {"src": gen.normal((2, 2))}), (value, {"value": 1.0}), (add, {"src": gen.normal((2, 2))})):
        op.bad(self=gen.normal((3, 4)), dim=1, index=tensor([[4]], "i64"), **rest, note="values")
        op.bad(self=gen.normal((3, 4)), dim=1, index=tensor([[-1]], "i64"), **rest, note="values")
        op.bad(self=gen.normal((3, 4)), dim=2, index=tensor([[0]], "i64"), **rest)
        op.bad(self=gen.normal((3, 4)), dim=1, index=tensor([0], "i64"), **rest)
        op.bad(self=gen.normal((3, 4)), dim=1, index=gen.ints((4, 1), "i64", 0, 1), **rest)
    for op in (src, add):
        op.bad(self=gen.normal((3, 4)), dim=1, index=tensor([[0]], "i64"), src=gen.normal((3, 4), "f16"))
        op.bad(self=gen.normal((3, 4)), dim=1, index=gen.ints((2, 3), "i64", 0, 1), src=gen.normal((2, 2)))


def index_select():
    """index_select."""
    op, gen = Op("index_select"), Gen("index_select")
    for dtype in DTYPES_MOVED:
        op.ok(self=gen.values((3, 4), dtype), dim=0, index=gen.ints((5,), "i64", 0, 2))
        op.ok(self=gen.values((3, 4), dtype), dim=-1, index=gen.ints((2,), "i32", 0, 3))
    op.ok(self=gen.normal((2, 3, 4)), dim=1, index=gen.ints((2,), "i64", 0, 2))
    op.ok(self=gen.normal((3, 4)), dim=1, index=tensor(2, "i64"))
    op.ok(self=gen.normal(()), dim=0, index=tensor([0], "i64"))
    op.ok(self=gen.normal((3, 4)), dim=0, index=gen.ints((0,), "i64"))
    op.ok(self=gen.normal((3, 0)), dim=0, index=gen.ints((2,), "i64", 0, 2))
    op.ok(self=tensor([NAN, -0.0, INF]), dim=0, index=tensor([1, 1, 0, 2], "i64"))
    for layout in LAYOUTS:
        op.ok(self=layout(gen.normal((3, 4))), dim=1, index=layout(gen.ints((4,), "i64", 0, 3)))
    op.bad(self=gen.normal((3, 4)), dim=0, index=tensor([3], "i64"), note="values")
    op.bad(self=gen.normal((3, 4)), dim=0, index=tensor([-1], "i64"), note="values")
    op.bad(self=gen.normal((3, 4)), dim=2, index=tensor([0], "i64"))
    op.bad(self=gen.normal((3, 4)), dim=0, index=tensor([[0]], "i64"))
    op.bad(self=gen.normal((3, 4)), dim=0, index=tensor([0.0]))


def index():
    """index with integer and boolean tensors, nulls between them."""
    op, gen = Op("index", aten("index.Tensor")), Gen("index")
    for dtype in DTYPES_MOVED:
        op.ok(self=gen.values((3, 4), dtype), indices=[gen.ints((5,), "i64", -3, 2)])
        op.ok(self=gen.values((3, 4), dtype), indices=[gen.mask((3,))], note="values")
    x = gen.normal((3, 4, 2))
    i3, i4, i2 = gen.ints((5,), "i64", -3, 2), gen.ints((5,), "i64", -4, 3), gen.ints((5,), "i64", 0, 1)
    for indices in ([i3, i4], [None, i4], [None, None, i2], [i3, None, i2], [i3, i4, i2], [None, i4, i2], [i3, None]):
        op.ok(self=x, indices=indices)
    op.ok(self=x, indices=[gen.ints((2, 1), "i64", 0, 2), gen.ints((3,), "i64", 0, 3)])
    op.ok(self=x, indices=[None, gen.ints((2, 2), "i32", 0, 3)])
    op.ok(self=x, indices=[tensor(1, "i64")])
    op.ok(self=x, indices=[tensor(1, "i64"), gen.ints((3,), "i64", 0, 3)])
    op.ok(self=x, indices=[gen.mask((3, 4))], note="values")
    op.ok(self=x, indices=[None, gen.mask((4,))], note="values")
    op.ok(self=x, indices=[gen.mask((3, 4, 2))], note="values")
    op.ok(self=x, indices=[tensor([True, False, True], "bool"), tensor([1, 3], "i64")], note="values")
    op.ok(self=x, indices=[tensor([False] * 3, "bool")], note="values")
    op.ok(self=x, indices=[gen.ints((0,), "i64")])
    op.ok(self=gen.normal((0, 3)), indices=[None, tensor([1, 1], "i64")])
    for layout in LAYOUTS:
        op.ok(self=layout(gen.normal((3, 4))), indices=[None, layout(gen.ints((2, 2), "i64", 0, 3))])
    op.bad(self=x, indices=[tensor([3], "i64")], note="values")
    op.bad(self=x, indices=[tensor([-4], "i64")], note="values")
    op.bad(self=x, indices=[tensor([1.0])])
    op.bad(self=x, indices=[gen.mask((4,))])
    op.bad(self=x, indices=[tensor([0, 1], "i64"), tensor([0, 1, 2], "i64")])
    op.bad(self=gen.normal((3,)), indices=[tensor([0], "i64"), tensor([0], "i64")])


def index_put():
    """index_put: different positions unless it accumulates."""
    op, gen = Op("index_put"), Gen("index_put")
    for dtype in DTYPES_MOVED:
        op.ok(self=gen.values((4, 3), dtype), indices=[permutation(gen, 4, 2)], values=gen.values((2, 3), dtype))
        op.ok(self=gen.values((4, 3), dtype), indices=[gen.mask((4,))], values=gen.values((), dtype))
        op.ok(
            self=gen.values((4, 3), dtype),
            indices=[gen.ints((6,), "i64", 0, 3)],
            values=gen.values((6, 3), dtype),
            accumulate=True,
        )
    op.ok(self=gen.normal((4, 3)), indices=[None, permutation(gen, 3, 2)], values=gen.normal((4, 2)))
    op.ok(self=gen.normal((4, 3)), indices=[permutation(gen, 4, 3), tensor([0, 2, 1], "i64")], values=gen.normal((3,)))
    op.ok(self=gen.normal((4, 3)), indices=[permutation(gen, 4, 3) - 4], values=gen.normal((1, 3)))
    op.ok(
        self=gen.normal((4, 3)),
        indices=[gen.ints((2, 2), "i64", 0, 3), tensor(1, "i64")],
        values=gen.normal((2, 2)),
        accumulate=True,
    )
    op.ok(self=gen.normal((4, 3)), indices=[gen.mask((4, 3))], values=tensor(NAN))
    op.ok(self=gen.normal((4, 3)), indices=[gen.ints((0,), "i64")], values=gen.normal((0, 3)))
    op.ok(self=tensor([127, 0], "i8"), indices=[tensor([0, 0], "i64")], values=tensor([1, 2], "i8"), accumulate=True)
    for layout in LAYOUTS[:3]:
        op.ok(self=layout(gen.normal((4, 3))), indices=[permutation(gen, 4, 2)], values=layout(gen.normal((2, 3))))
    op.bad(self=gen.normal((4, 3)), indices=[tensor([4], "i64")], values=gen.normal((1, 3)), note="values")
    op.bad(self=gen.normal((4, 3)), indices=[tensor([1.0])], values=gen.normal((1, 3)))
    op.bad(self=gen.normal((4, 3)), indices=[tensor([0, 1], "i64")], values=gen.normal((2, 2)))
    op.bad(self=gen.normal((4, 3)), indices=[tensor([0, 1], "i64")], values=gen.normal((2, 3), "f16"))


def index_add():
    """index_add."""
    op, gen = Op("index_add"), Gen("index_add")
    for dtype in FLOATS + ("i64", "i32", "i8", "u8"):
        op.ok(
            self=gen.values((4, 3), dtype), dim=0, index=gen.ints((5,), "i64", 0, 3), source=gen.values((5, 3), dtype)
        )
        op.ok(
            self=gen.values((4, 3), dtype),
            dim=-1,
            index=gen.ints((2,), "i32", 0, 2),
            source=gen.values((4, 2), dtype),
            alpha=2,
        )
    op.ok(
        self=gen.normal((2, 3, 2)), dim=1, index=gen.ints((4,), "i64", 0, 2), source=gen.normal((2, 4, 2)), alpha=-0.5
    )
    op.ok(self=gen.normal((4,)), dim=0, index=tensor(2, "i64"), source=gen.normal((1,)))
    op.ok(self=gen.normal((4, 3)), dim=0, index=gen.ints((0,), "i64"), source=gen.normal((0, 3)))
    op.ok(self=tensor([1.0, 2.0]), dim=0, index=tensor([0, 1], "i64"), source=tensor([NAN, INF]))
    for layout in LAYOUTS[:3]:
        op.ok(
            self=layout(gen.normal((4, 3))), dim=0, index=gen.ints((4,), "i64", 0, 3), source=layout(gen.normal((4, 3)))
        )
    op.bad(self=gen.normal((4, 3)), dim=0, index=tensor([4], "i64"), source=gen.normal((1, 3)), note="values")
    op.bad(self=gen.normal((4, 3)), dim=0, index=tensor([0, 1], "i64"), source=gen.normal((1, 3)))
    op.bad(self=gen.normal((4, 3)), dim=0, index=tensor([0], "i64"), source=gen.normal((1, 2)))
    op.bad(self=gen.normal((4, 3)), dim=2, index=tensor([0], "i64"), source=gen.normal((1, 3)))
    op.bad(self=gen.normal((4, 3)), dim=0, index=tensor([0], "i64"), source=gen.normal((1, 3), "f16"))


def embedding_bag(**args):
    """The bags alone: the other outputs of aten._embedding_bag are notes to its backward pass."""
    return aten("_embedding_bag")(**args)[0]


def bags():
    """embedding_bag: sum, mean and max of the rows between offsets."""
    op, gen = Op("embedding_bag", embedding_bag), Gen("embedding_bag")
    offsets = tensor([0, 2, 2, 5], "i64")
    for mode in (0, 1, 2):
        for dtype in FLOATS:
            args = {"weight": gen.normal((6, 3), dtype), "indices": gen.ints((7,), "i64", 0, 5), "mode": mode}
            op.ok(**args, offsets=offsets)
            op.ok(**args, offsets=tensor([0, 3, 7], "i64"), include_last_offset=True)
        args = {"weight": gen.normal((6, 3)), "indices": tensor([1, 2, 2, 0, 4, 2, 5], "i64"), "mode": mode}
        op.ok(**args, offsets=offsets, padding_idx=2)
        op.ok(**{**args, "indices": args["indices"].int()}, offsets=offsets.int())
        op.ok(
            weight=tensor([[NAN, 1.0], [INF, -1.0], [-INF, 2.0]]),
            indices=tensor([0, 1, 1, 2, 2], "i64"),
            offsets=tensor([0, 2, 3], "i64"),
            mode=mode,
        )
    for dtype in ("f32", "f64", "f16"):
        op.ok(
            weight=gen.normal((6, 3), dtype),
            indices=gen.ints((7,), "i64", 0, 5),
            offsets=offsets,
            mode=0,
            per_sample_weights=gen.normal((7,), dtype),
        )
    op.ok(weight=gen.normal((6, 3)), indices=gen.ints((0,), "i64"), offsets=tensor([0, 0], "i64"))
    op.bad(weight=gen.normal((6, 3)), indices=tensor([6], "i64"), offsets=tensor([0], "i64"), note="values")
    op.bad(weight=gen.normal((6, 3)), indices=tensor([1.0]), offsets=tensor([0], "i64"))
    op.bad(weight=gen.normal((6, 3)), indices=tensor([1, 2], "i64"), offsets=tensor([1], "i64"), note="values")
    op.bad(
        weight=gen.normal((6, 3)),
        indices=tensor([1, 2], "i64"),
        offsets=tensor([0], "i64"),
        mode=1,
        per_sample_weights=gen.normal((2,)),
    )


def one_hot():
    """one_hot."""
    op, gen = Op("one_hot"), Gen("one_hot")
    for shape in ((5,), (2, 3), (), (1, 2, 2)):
        op.ok(self=gen.ints(shape, "i64", 0, 3), note="values")
        op.ok(self=gen.ints(shape, "i64", 0, 3), num_classes=6)
    op.ok(self=tensor([0, 0], "i64"), note="values")
    op.ok(self=gen.ints((0,), "i64"), num_classes=3)
    op.ok(self=gen.ints((0, 2), "i64"), num_classes=3)
    for layout in LAYOUTS:
        op.ok(self=layout(gen.ints((2, 3), "i64", 0, 3)), num_classes=4)
    op.bad(self=tensor([4], "i64"), num_classes=4, note="values")
    op.bad(self=tensor([-1], "i64"), num_classes=4, note="values")
    op.bad(self=tensor([1], "i32"), num_classes=4)
    op.bad(self=gen.ints((0,), "i64"), note="values")
    op.bad(self=tensor([1], "i64"), num_classes=0, note="values")


def scatter_reduce():
    """scatter_reduce with each reduction, with and without self."""
    op, gen = Op("scatter_reduce", aten("scatter_reduce.two"), once=True), Gen("scatter_reduce")
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        for include in (True, False):
            options = {"reduce": reduce, "include_self": include}
            for dtype in FLOATS + ("i64", "i32", "i8", "u8"):
                op.ok(
                    self=gen.values((3, 4), dtype),
                    dim=1,
                    index=gen.ints((3, 6), "i64", 0, 3),
                    src=gen.values((3, 6), dtype),
                    **options,
                )
            op.ok(self=gen.normal(()), dim=0, index=tensor(0, "i64"), src=gen.normal(()), **options)
            op.ok(self=gen.normal((3,)), dim=0, index=gen.ints((0,), "i64"), src=gen.normal((2,)), **options)
            special = tensor([NAN, INF, -INF, 1.0, -0.0, 2.0])
            op.ok(self=gen.normal((3,)), dim=0, index=tensor([0, 1, 1, 2, 2, 0], "i64"), src=special, **options)
            for layout in LAYOUTS:
                index = gen.ints((4, 2, 2), "i64", 0, 2)
                op.ok(self=layout(gen.normal((3, 2, 2))), dim=0, index=index, src=gen.normal((4, 2, 2)), **options)
    op.bad(self=gen.normal((3,)), dim=0, index=gen.ints((3,), "i64", 0, 2), src=gen.normal((2,)), reduce="sum")
    op.bad(self=gen.normal((3,)), dim=0, index=gen.ints((2,), "i64", 0, 2), src=gen.normal((2,)), reduce="median")


def cases():
    """Every case of this file."""
    embedding()
    gather()
    scatters()
    index_select()
    index()
    index_put()
    index_add()
    bags()
    one_hot()
    scatter_reduce()
