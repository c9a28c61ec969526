"""Contractions. The specials are kept to few elements, so that no NaN hides another fault."""

from ..inputs import FLOATS, INF, LAYOUTS, NAN, Gen, tensor
from ..record import Op

# op: (arguments in order, shapes with m, n, k, b as letters)
TABLE = {
    "mm": {"self": "mk", "mat2": "kn"},
    "bmm": {"self": "bmk", "mat2": "bkn"},
    "addmm": {"self": "mn", "mat1": "mk", "mat2": "kn"},
    "baddbmm": {"self": "bmn", "batch1": "bmk", "batch2": "bkn"},
    "addbmm": {"self": "mn", "batch1": "bmk", "batch2": "bkn"},
    "mv": {"self": "mk", "vec": "k"},
    "dot": {"self": "k", "tensor": "k"},
    "outer": {"self": "m", "vec2": "n"},
    "addmv": {"self": "m", "mat": "mk", "vec": "k"},
}

SIZES = ({"m": 3, "n": 4, "k": 5, "b": 2}, {"m": 1, "n": 1, "k": 1, "b": 1}, {"m": 2, "n": 3, "k": 17, "b": 3})
EMPTY = (
    {"m": 0, "n": 3, "k": 2, "b": 2},
    {"m": 2, "n": 0, "k": 2, "b": 2},
    {"m": 2, "n": 3, "k": 0, "b": 2},
    {"m": 2, "n": 3, "k": 2, "b": 0},
)


def operands(gen, form, size, dtype="f32"):
    """Random operands of the given sizes."""
    return {name: gen.values(tuple(size[letter] for letter in letters), dtype) for name, letters in form.items()}


def laid_out(args, layout):
    """The operands of two and more dimensions in another layout, vectors gapped or so where it makes sense."""
    return {name: layout(t) for name, t in args.items()}


def table():
    """The ops that are one contraction, and those that add to it."""
    for name, form in TABLE.items():
        op, gen = Op(name), Gen(name)
        for dtype in FLOATS:
            for size in SIZES:
                op.ok(**operands(gen, form, size, dtype))
        for size in EMPTY:
            op.ok(**operands(gen, form, size))
        for dtype in ("i64", "i32", "i8"):
            op.ok(**operands(gen, form, SIZES[0], dtype))
        for layout in LAYOUTS:
            op.ok(**laid_out(operands(gen, form, SIZES[0]), layout))
        specials(op, gen, form)
        if name.startswith(("add", "badd")):
            scaled(op, gen, form)
        args = operands(gen, form, SIZES[0])
        last = list(form)[-1]
        if name != "outer":
            wrong = gen.normal(
                tuple(
                    n + 1 if i == len(args[last].shape) - (2 if args[last].dim() > 1 else 1) else n
                    for i, n in enumerate(args[last].shape)
                )
            )
            op.bad(**{**args, last: wrong})
        op.bad(**{**args, last: args[last].unsqueeze(0)})
        if name != "outer":
            op.bad(**{**args, last: args[last].double()})


def specials(op, gen, form):
    """A NaN and an infinity in one operand, a zero facing the infinity in the other."""
    args = operands(gen, form, SIZES[0])
    first, second = list(form)[-2:]
    args[first].view(-1)[0] = INF
    args[second].view(-1)[0] = 0.0
    op.ok(**args)
    args = operands(gen, form, SIZES[0])
    args[second].view(-1)[-1] = NAN
    op.ok(**args)
    args = operands(gen, form, SIZES[0], "f16")
    args[first].view(-1)[0] = 60000.0
    args[second].view(-1)[0] = 3.0
    op.ok(**args)


def scaled(op, gen, form):
    """alpha, beta, a broadcast addend; beta = 0 ignores even a NaN in the addend."""
    for dtype in FLOATS:
        op.ok(**operands(gen, form, SIZES[0], dtype), beta=0.5, alpha=-2)
        op.ok(**operands(gen, form, SIZES[0], dtype), beta=2, alpha=0.25)
    op.ok(**operands(gen, form, SIZES[0]), beta=0, alpha=3)
    op.ok(**operands(gen, form, SIZES[0]), alpha=0)
    op.ok(**operands(gen, form, SIZES[0], "i32"), beta=2, alpha=-3)
    args = operands(gen, form, SIZES[0])
    op.ok(**{**args, "self": args["self"] * NAN}, beta=0)
    op.ok(**{**args, "self": gen.normal((1,))})
    op.ok(**{**args, "self": gen.normal(())})
    if args["self"].dim() > 1:
        op.ok(**{**args, "self": gen.normal((4,))})
        op.ok(**{**args, "self": gen.normal((3, 1))})
    op.ok(**operands(gen, form, EMPTY[2]), beta=0.5)
    op.bad(**{**args, "self": gen.normal((7,))})


def matmul():
    """matmul: every pair of ranks."""
    op, gen = Op("matmul"), Gen("matmul")
    for first, second in (
        ((4,), (4,)),
        ((4,), (4, 3)),
        ((3, 4), (4,)),
        ((2, 3, 4), (4,)),
        ((4,), (2, 4, 3)),
        ((3, 4), (4, 2)),
        ((2, 3, 4), (4, 2)),
        ((3, 4), (2, 4, 2)),
        ((2, 1, 3, 4), (3, 4, 2)),
        ((2, 3, 4), (2, 4, 2)),
        ((1, 3, 4), (2, 4, 2)),
        ((2, 2, 2, 3), (2, 2, 3, 2)),
    ):
        for dtype in ("f32", "f16"):
            op.ok(self=gen.normal(first, dtype), other=gen.normal(second, dtype))
    for dtype in ("f64", "bf16", "i64", "i32"):
        op.ok(self=gen.values((2, 3, 4), dtype), other=gen.values((4, 2), dtype))
    for first, second in (((0, 3), (3, 2)), ((2, 0), (0, 3)), ((0,), (0,)), ((0, 2, 3), (3, 2)), ((2, 3, 0), (0, 2))):
        op.ok(self=gen.normal(first), other=gen.normal(second))
    for layout in LAYOUTS:
        op.ok(self=layout(gen.normal((2, 3, 4))), other=layout(gen.normal((2, 4, 3))))
        op.ok(self=layout(gen.normal((3, 4))), other=layout(gen.normal((4, 2))))
    op.ok(self=tensor([[INF, 1.0], [NAN, 1.0]]), other=tensor([[0.0, 1.0], [1.0, 1.0]]))
    op.bad(self=gen.normal((2, 3)), other=gen.normal((2, 3)))
    op.bad(self=gen.normal((2, 3, 4)), other=gen.normal((3, 4, 2)))
    op.bad(self=gen.normal(()), other=gen.normal((3,)))
    op.bad(self=gen.normal((3,)), other=gen.normal((4,)))
    op.bad(self=gen.normal((2, 3)), other=gen.normal((3, 2), "f16"))


def linear():
    """linear: input @ weight.T + bias."""
    op, gen = Op("linear"), Gen("linear")
    for dtype in FLOATS:
        for shape in ((3, 4), (4,), (2, 3, 4)):
            op.ok(input=gen.normal(shape, dtype), weight=gen.normal((5, 4), dtype), bias=gen.normal((5,), dtype))
            op.ok(input=gen.normal(shape, dtype), weight=gen.normal((5, 4), dtype))
    op.ok(input=gen.normal((3, 4)), weight=gen.normal((4,)))
    op.ok(input=gen.normal((0, 4)), weight=gen.normal((5, 4)), bias=gen.normal((5,)))
    op.ok(input=gen.normal((2, 0)), weight=gen.normal((5, 0)), bias=gen.normal((5,)))
    op.ok(input=gen.ints((2, 3)), weight=gen.ints((4, 3)))
    for layout in LAYOUTS:
        op.ok(input=layout(gen.normal((2, 3, 4))), weight=layout(gen.normal((5, 4))), bias=layout(gen.normal((5,))))
    op.bad(input=gen.normal((3, 4)), weight=gen.normal((5, 3)))
    op.bad(input=gen.normal((3, 4)), weight=gen.normal((5, 4)), bias=gen.normal((4,)))
    op.bad(input=gen.normal((3, 4)), weight=gen.normal((5, 4), "f16"))


def cases():
    """Every case of this file."""
    table()
    matmul()
    linear()
