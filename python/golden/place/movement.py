"""Ops that move or repeat elements."""

from ..inputs import DTYPES, FLOATS, INTS, LAYOUTS, Gen, channels_last, gapped, special, tensor, transposed
from ..record import Op, aten

MOVED = FLOATS + ("i64", "i32", "i16", "i8", "u8", "bool")


def common(op, gen, shape, options, bad=()):
    """Every dtype with the first options, every option, every layout, special values and refused options."""
    for dtype in MOVED:
        op.ok(self=gen.values(shape, dtype), **options[0])
    for i, option in enumerate(options[1:]):
        op.ok(self=gen.values(shape, MOVED[i % 5]), **option)
    for layout in LAYOUTS + ((channels_last,) if len(shape) == 4 else ()):
        op.ok(self=layout(gen.values(shape, "f32")), **options[-1])
    for option in bad:
        op.bad(self=gen.values(shape, "f32"), **option)


def joins():
    """cat and stack."""
    cat, stack, gen = Op("cat"), Op("stack"), Gen("cat")
    for dtype in MOVED:
        parts = [gen.values((2, 3), dtype) for _ in range(3)]
        cat.ok(tensors=parts, dim=1)
        stack.ok(tensors=parts, dim=1)
    for dim in (0, -1, -2):
        cat.ok(tensors=[gen.normal((2, 2)), gen.normal((2, 2))], dim=dim)
    for dim in (0, 2, -1, -3):
        stack.ok(tensors=[gen.normal((2, 2)), gen.normal((2, 2))], dim=dim)
    cat.ok(tensors=[gen.normal((1, 3)), gen.normal((2, 3)), gen.normal((0, 3))])
    cat.ok(tensors=[gen.normal((0,)), gen.normal((2, 3))])
    cat.ok(tensors=[gen.normal((2, 3))])
    cat.ok(tensors=[gen.normal((0, 3)), gen.normal((0, 3))], dim=1)
    stack.ok(tensors=[gen.normal(()), gen.normal(()), gen.normal(())])
    stack.ok(tensors=[gen.normal((0, 2)), gen.normal((0, 2))], dim=-1)
    stack.ok(tensors=[gen.normal((2, 3))])
    for first, second in (("f16", "f32"), ("i32", "f16"), ("f16", "bf16"), ("u8", "i8"), ("bool", "i64")):
        cat.ok(tensors=[gen.values((2, 2), first), gen.values((1, 2), second)])
        stack.ok(tensors=[gen.values((2, 2), first), gen.values((2, 2), second)])
    cat.ok(tensors=[special("f32"), special("f32")])
    for layout in LAYOUTS:
        parts = [layout(gen.normal((2, 3))), gen.normal((2, 3))]
        cat.ok(tensors=parts, dim=1)
        stack.ok(tensors=parts, dim=2)
    parts = [channels_last(gen.normal((2, 3, 2, 2))) for _ in range(2)]
    cat.ok(tensors=parts, dim=1)
    cat.bad(tensors=[gen.normal((2, 3)), gen.normal((2, 2))])
    cat.bad(tensors=[gen.normal((2, 3)), gen.normal((2, 3))], dim=2)
    cat.bad(tensors=[gen.normal((2, 3)), gen.normal((3,))])
    cat.bad(tensors=[gen.normal(()), gen.normal(())])
    stack.bad(tensors=[gen.normal((2, 3)), gen.normal((2, 2))])
    stack.bad(tensors=[gen.normal((2, 3)), gen.normal((2, 3))], dim=3)


def rearranged():
    """repeat, flip, roll, tril, triu, diag, repeat_interleave."""
    op, gen = Op("repeat"), Gen("repeat")
    common(
        op,
        gen,
        (2, 3),
        [{"repeats": [2, 1]}, {"repeats": [1, 2]}, {"repeats": [2, 1, 2]}, {"repeats": [0, 1]}, {"repeats": [2, 2]}],
        [{"repeats": [2]}, {"repeats": [-1, 1]}],
    )
    op.ok(self=gen.normal(()), repeats=[3])
    op.ok(self=gen.normal(()), repeats=[])
    op.ok(self=gen.normal((0, 2)), repeats=[2, 2])
    op, gen = Op("flip"), Gen("flip")
    common(
        op,
        gen,
        (2, 3, 2),
        [{"dims": [0]}, {"dims": [1, 2]}, {"dims": [-1]}, {"dims": []}, {"dims": [0, 1, 2]}],
        [{"dims": [3]}, {"dims": [0, 0]}],
    )
    op.ok(self=gen.normal((0, 2)), dims=[0])
    op.ok(self=gen.normal(()), dims=[0])
    op, gen = Op("roll"), Gen("roll")
    common(
        op,
        gen,
        (3, 4),
        [
            {"shifts": [1], "dims": [1]},
            {"shifts": [5]},
            {"shifts": [-2], "dims": [-1]},
            {"shifts": [1, -1], "dims": [0, 1]},
            {"shifts": [0], "dims": [0]},
            {"shifts": [7, 2], "dims": [0, 0]},
        ],
        [{"shifts": [1], "dims": [2]}, {"shifts": [1, 2], "dims": [0]}],
    )
    op.ok(self=gen.normal((0, 2)), shifts=[1], dims=[0])
    op.ok(self=gen.normal(()), shifts=[1])
    for name in ("tril", "triu"):
        op, gen = Op(name), Gen(name)
        common(
            op, gen, (3, 4), [{}, {"diagonal": 1}, {"diagonal": -1}, {"diagonal": 9}, {"diagonal": -9}, {"diagonal": 2}]
        )
        op.ok(self=gen.normal((2, 3, 3)), diagonal=-1)
        op.ok(self=gen.normal((0, 3)))
        op.ok(self=special("f32").reshape(3, 9).clone())
        op.bad(self=gen.normal((3,)))
    op, gen = Op("diag"), Gen("diag")
    common(op, gen, (3, 4), [{}, {"diagonal": 1}, {"diagonal": -1}, {"diagonal": 3}, {"diagonal": 9}, {"diagonal": 2}])
    for diagonal in (0, 2, -1):
        op.ok(self=gen.normal((3,)), diagonal=diagonal)
    op.ok(self=gen.normal((0,)))
    op.bad(self=gen.normal((2, 2, 2)))
    op, gen = Op("repeat_interleave", aten("repeat_interleave.self_int")), Gen("repeat_interleave")
    common(
        op,
        gen,
        (2, 3),
        [
            {"repeats": 2, "dim": 1},
            {"repeats": 3},
            {"repeats": 1, "dim": 0},
            {"repeats": 0, "dim": 0},
            {"repeats": 2, "dim": -1, "output_size": 6},
            {"repeats": 2, "dim": -2},
        ],
        [{"repeats": 2, "dim": 2}, {"repeats": -1}],
    )
    op.ok(self=gen.normal(()), repeats=2)
    op.ok(self=gen.normal((0, 2)), repeats=2, dim=1)


def counted():
    """repeat_interleave by a tensor: the length is that of the result, which the values give otherwise."""
    op, gen = Op("repeat_interleave.self_Tensor"), Gen("repeat_interleave.self_Tensor")
    repeats = tensor([2, 0, 3, 1], "i64")
    for dtype in FLOATS + INTS + ("bool",):
        op.ok(self=gen.values((4, 3), dtype), repeats=repeats, dim=0, output_size=6)
        op.ok(self=gen.values((2, 4), dtype), repeats=repeats.int(), dim=-1, output_size=6)
        op.ok(self=gen.values((2, 2), dtype), repeats=repeats, output_size=6)
    op.ok(self=special("f32"), repeats=gen.ints((27,), "i64", 1, 1), dim=0, output_size=27)
    op.ok(self=gen.normal((2, 4, 3)), repeats=repeats, dim=1, output_size=6)
    op.ok(self=gen.normal((2, 4, 3)), repeats=repeats, dim=-2, output_size=6)
    for count in (tensor([3], "i64"), tensor(3, "i64")):
        op.ok(self=gen.normal((2, 4)), repeats=count, dim=1, output_size=12)
        op.ok(self=gen.normal((2, 4)), repeats=count, output_size=24)
        op.ok(self=gen.normal(()), repeats=count, output_size=3)
    op.ok(self=gen.normal((4, 3)), repeats=tensor([0, 0, 0, 0], "i64"), dim=0, output_size=0)
    op.ok(self=gen.normal((0, 3)), repeats=tensor([], "i64"), dim=0, output_size=0)
    op.ok(self=gen.normal((4, 0)), repeats=repeats, dim=0, output_size=6)
    op.ok(self=gen.normal((4, 3)), repeats=repeats, dim=0, note="values")
    for layout in LAYOUTS:
        op.ok(self=layout(gen.normal((4, 3, 4))), repeats=gapped(repeats), dim=0, output_size=6)
        op.ok(self=layout(gen.normal((4, 3, 4))), repeats=repeats, dim=2, output_size=6)
    op.bad(self=gen.normal((4, 3)), repeats=repeats, dim=0, output_size=5, note="values")
    op.bad(self=gen.normal((4, 3)), repeats=tensor([2, -1, 3, 1], "i64"), dim=0, output_size=5, note="values")
    op.bad(self=gen.normal((4, 3)), repeats=tensor([2], "i64"), dim=0, output_size=7, note="values")
    op.bad(self=gen.normal((4, 3)), repeats=tensor([2, 1, 1], "i64"), dim=0, output_size=4)
    op.bad(self=gen.normal((4, 3)), repeats=repeats, dim=1, output_size=6)
    op.bad(self=gen.normal((4, 3)), repeats=repeats, dim=2, output_size=6)
    op.bad(self=gen.normal((4, 3)), repeats=tensor([[2, 0, 3, 1]], "i64"), dim=0, output_size=6)
    op.bad(self=gen.normal((4, 3)), repeats=tensor([2.0, 0.0, 3.0, 1.0]), dim=0, output_size=6)
    op.bad(self=gen.normal(()), repeats=tensor([2], "i64"), dim=0, output_size=2)
    op, gen = Op("repeat_interleave.Tensor"), Gen("repeat_interleave.Tensor")
    for dtype in ("i64", "i32"):
        op.ok(repeats=tensor([2, 0, 3, 1], dtype), output_size=6)
        op.ok(repeats=gapped(gen.ints((9,), dtype, 2, 2)), output_size=18)
        op.ok(repeats=tensor([0, 0, 5, 0], dtype), output_size=5)
        op.ok(repeats=tensor([], dtype), output_size=0)
        op.ok(repeats=tensor([2, 1], dtype), note="values")
    op.bad(repeats=tensor([2, 0, 3], "i64"), output_size=6, note="values")
    op.bad(repeats=tensor([2, -1, 3], "i64"), output_size=4, note="values")
    op.bad(repeats=tensor([[2, 1, 3]], "i64"), output_size=6)
    op.bad(repeats=tensor(2, "i64"), output_size=2)
    op.bad(repeats=tensor([2, 0, 3], "u8"), output_size=5)
    op.bad(repeats=tensor([2.0, 1.0]), output_size=3)


def views():
    """The views, as copies."""
    op, gen = Op("permute", aten("permute_copy")), Gen("permute")
    common(
        op,
        gen,
        (2, 3, 4),
        [{"dims": [2, 0, 1]}, {"dims": [0, 1, 2]}, {"dims": [-1, -2, -3]}, {"dims": [1, 0, 2]}],
        [{"dims": [0, 1]}, {"dims": [0, 0, 1]}, {"dims": [0, 1, 3]}],
    )
    op.ok(self=gen.normal(()), dims=[])
    op.ok(self=gen.normal((0, 2)), dims=[1, 0])
    op, gen = Op("transpose", aten("transpose_copy.int")), Gen("transpose")
    common(
        op,
        gen,
        (2, 3, 4),
        [{"dim0": 0, "dim1": 1}, {"dim0": -1, "dim1": 0}, {"dim0": 1, "dim1": 1}, {"dim0": 1, "dim1": -1}],
        [{"dim0": 0, "dim1": 3}],
    )
    op.ok(self=gen.normal(()), dim0=0, dim1=-1)
    op.ok(self=gen.normal((0, 2)), dim0=0, dim1=1)
    op, gen = Op("expand", aten("expand_copy")), Gen("expand")
    common(
        op,
        gen,
        (2, 1),
        [
            {"size": [2, 3]},
            {"size": [-1, 4]},
            {"size": [3, 2, 1]},
            {"size": [2, -1, 2]},
            {"size": [2, 3], "implicit": True},
        ],
        [{"size": [3, 1]}, {"size": [2]}, {"size": [-1, 2, 1]}],
    )
    op.ok(self=gen.normal(()), size=[2, 2])
    op.ok(self=gen.normal((1,)), size=[0])
    op, gen = Op("view", aten("view_copy")), Gen("view")
    for dtype in MOVED:
        op.ok(self=gen.values((2, 6), dtype), size=[3, 4])
    for size in ([12], [-1], [2, -1], [3, 2, 2], [1, 12, 1], [-1, 4]):
        op.ok(self=gen.normal((2, 6)), size=size)
    op.ok(self=gen.normal(()), size=[1, 1])
    op.ok(self=gen.normal((1,)), size=[])
    op.ok(self=gen.normal((0, 2)), size=[4, 0])
    for size in ([5], [-1, 5], [-1, -1], [0, -1]):
        op.bad(self=gen.normal((2, 6)), size=size)
    op, gen = Op("unsqueeze", aten("unsqueeze_copy")), Gen("unsqueeze")
    common(op, gen, (2, 3), [{"dim": 0}, {"dim": 2}, {"dim": -1}, {"dim": -3}, {"dim": 1}], [{"dim": 3}, {"dim": -4}])
    op.ok(self=gen.normal(()), dim=0)
    op.ok(self=gen.normal((0, 2)), dim=-1)


def parts():
    """unbind, split, slice, select."""
    op, gen = Op("unbind", aten("unbind_copy.int")), Gen("unbind")
    common(op, gen, (2, 3), [{}, {"dim": 1}, {"dim": -1}, {"dim": -2}], [{"dim": 2}])
    op.ok(self=gen.normal((3,)))
    op.ok(self=gen.normal((2, 0)))
    op.bad(self=gen.normal(()))
    op, gen = Op("split", aten("split_copy.Tensor")), Gen("split")
    common(
        op,
        gen,
        (3, 5),
        [
            {"split_size": 2},
            {"split_size": 2, "dim": 1},
            {"split_size": 9},
            {"split_size": 5, "dim": -1},
            {"split_size": 1, "dim": -2},
            {"split_size": 3, "dim": 1},
        ],
        [{"split_size": -1}, {"split_size": 0}, {"split_size": 1, "dim": 2}],
    )
    op.ok(self=gen.normal((0, 2)), split_size=2)
    op.bad(self=gen.normal(()), split_size=1)
    op, gen = Op("slice", aten("slice_copy.Tensor")), Gen("slice")
    common(
        op,
        gen,
        (3, 6),
        [
            {"dim": 1, "start": 1, "end": 4},
            {},
            {"dim": 1, "start": -3},
            {"dim": 1, "end": -1},
            {"dim": -1, "step": 2},
            {"dim": 1, "start": 1, "end": 99, "step": 3},
            {"start": 5},
            {"dim": 1, "start": 4, "end": 2},
            {"dim": 1, "start": -99, "end": 2},
            {"dim": 1, "start": 0, "end": 6, "step": 5},
        ],
        [{"dim": 2}, {"step": 0}, {"step": -1}],
    )
    op.ok(self=gen.normal((0, 2)), start=0, end=1)
    op.bad(self=gen.normal(()))
    op, gen = Op("select", aten("select_copy.int")), Gen("select")
    common(
        op,
        gen,
        (3, 4),
        [
            {"dim": 0, "index": 1},
            {"dim": 1, "index": -1},
            {"dim": -1, "index": 0},
            {"dim": -2, "index": -3},
            {"dim": 1, "index": 2},
        ],
        [{"dim": 0, "index": 3}, {"dim": 1, "index": -5}, {"dim": 2, "index": 0}],
    )
    op.ok(self=gen.normal((3,)), dim=0, index=2)
    op.ok(self=gen.normal((2, 0)), dim=0, index=1)
    op.bad(self=gen.normal(()), dim=0, index=0)


def fresh():
    """new_zeros and new_ones: only the dtype of the input counts."""
    for name in ("new_zeros", "new_ones"):
        op, gen = Op(name), Gen(name)
        for dtype in MOVED:
            op.ok(self=gen.values((2,), dtype), size=[2, 3])
        for dtype in ("f64", "f32", "f16", "bf16", "i64", "bool"):
            op.ok(self=gen.values((2,), "f32"), size=[3], dtype=DTYPES[dtype])
        for size in ([], [0], [2, 0], [1, 2, 1]):
            op.ok(self=gen.normal(()), size=size)
        op.ok(self=transposed(gen.normal((2, 3))), size=[2, 2])
        op.bad(self=gen.normal((2,)), size=[-1])


def scattered_slices():
    """slice_scatter and select_scatter."""
    op, gen = Op("slice_scatter"), Gen("slice_scatter")
    for dtype in FLOATS + ("i64", "bool"):
        op.ok(self=gen.values((3, 5), dtype), src=gen.values((3, 2), dtype), dim=1, start=1, end=3)
        op.ok(self=gen.values((3, 5), dtype), src=gen.values((2, 5), dtype), dim=-2, start=-2)
    op.ok(self=gen.normal((7,)), src=gen.normal((3,)), start=1, end=-1, step=2)
    op.ok(self=gen.normal((7,)), src=gen.normal((7,)))
    op.ok(self=gen.normal((7,)), src=gen.normal((0,)), start=5, end=2)
    op.ok(self=gen.normal((2, 0)), src=gen.normal((1, 0)), start=1)
    for layout in LAYOUTS:
        op.ok(self=layout(gen.normal((3, 2, 4))), src=layout(gen.normal((3, 2, 2))), dim=2, step=2)
    op.bad(self=gen.normal((3, 5)), src=gen.normal((3, 3)), dim=1, start=1, end=3)
    op.bad(self=gen.normal((3, 5)), src=gen.normal((3, 5)), dim=2)
    op, gen = Op("select_scatter"), Gen("select_scatter")
    for dtype in FLOATS + ("i64", "bool"):
        op.ok(self=gen.values((3, 5), dtype), src=gen.values((3,), dtype), dim=1, index=4)
        op.ok(self=gen.values((3, 5), dtype), src=gen.values((5,), dtype), dim=0, index=-1)
    op.ok(self=gen.normal((7,)), src=gen.normal(()), dim=0, index=2)
    for layout in LAYOUTS:
        op.ok(self=layout(gen.normal((3, 2, 4))), src=gen.normal((3, 4)), dim=1, index=1)
    op.bad(self=gen.normal((3, 5)), src=gen.normal((5,)), dim=1, index=1)
    op.bad(self=gen.normal((3, 5)), src=gen.normal((3,)), dim=1, index=5)


def cases():
    """Every case of this file."""
    joins()
    rearranged()
    counted()
    views()
    parts()
    fresh()
    scattered_slices()
