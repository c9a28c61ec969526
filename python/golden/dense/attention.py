"""scaled_dot_product_attention without dropout."""

from torch.nn.attention import SDPBackend, sdpa_kernel

from ..inputs import FLOATS, INF, LAYOUTS, NAN, Gen, channels_last
from ..record import Op, aten


def qkv(gen, shape_q, shape_k=None, shape_v=None, dtype="f32"):
    """Random query, key and value."""
    shape_k = shape_k or shape_q
    return {
        "query": gen.normal(shape_q, dtype),
        "key": gen.normal(shape_k, dtype),
        "value": gen.normal(shape_v or shape_k, dtype),
    }


def additive(gen, shape, dtype):
    """A mask to add: normal values and some -inf, never a whole row of them."""
    mask = gen.normal(shape, dtype)
    hidden = gen.mask(shape)
    hidden[..., 0] = False
    return mask.masked_fill(hidden, -INF)


def visible(gen, shape):
    """A boolean mask; every row sees something."""
    mask = gen.mask(shape)
    mask[..., 0] = True
    return mask


def masks(op, gen, dtype):
    """Boolean and additive masks of several broadcast shapes, and causal masks."""
    four, longer = (1, 2, 3, 4), (1, 2, 5, 4)
    for shape in ((3, 5), (1, 1, 3, 5), (1, 2, 3, 5), (1, 5)) if dtype == "f32" else ((3, 5), (1, 2, 1, 5)):
        op.ok(**qkv(gen, four, longer, None, dtype), attn_mask=visible(gen, shape))
        op.ok(**qkv(gen, four, longer, None, dtype), attn_mask=additive(gen, shape, dtype))
    for k_shape in (four, longer):
        op.ok(**qkv(gen, four, k_shape, None, dtype), is_causal=True)
    op.ok(**qkv(gen, longer, four, None, dtype), is_causal=True)
    op.ok(**qkv(gen, four, longer, None, dtype), scale=0.25)
    op.ok(**qkv(gen, four, four, None, dtype), scale=2.0, is_causal=True)


def plain(**args):
    """By the formula: the fused kernel of the CPU turns a row of NaN into zeros."""
    with sdpa_kernel(SDPBackend.MATH):
        return aten("scaled_dot_product_attention")(**args)


def cases():
    """Every case of this file."""
    op, gen = Op("scaled_dot_product_attention", plain), Gen("scaled_dot_product_attention")
    for dtype in FLOATS:
        op.ok(**qkv(gen, (1, 2, 4, 4), dtype=dtype))
        op.ok(**qkv(gen, (2, 1, 3, 4), (2, 1, 5, 4), (2, 1, 5, 6), dtype))
        masks(op, gen, dtype)
        op.ok(**qkv(gen, (1, 4, 3, 4), (1, 2, 3, 4), None, dtype), enable_gqa=True)
        op.ok(**qkv(gen, (1, 4, 3, 4), (1, 1, 5, 4), None, dtype), enable_gqa=True, is_causal=True)
        op.ok(
            **qkv(gen, (1, 6, 2, 4), (1, 3, 4, 4), None, dtype),
            enable_gqa=True,
            attn_mask=visible(gen, (2, 4)),
            scale=1.5
        )
    for shape in ((3, 4), (2, 3, 4), (1, 2, 1, 3, 4)):
        op.ok(**qkv(gen, shape))
        op.ok(**qkv(gen, shape), is_causal=True)
    op.ok(**qkv(gen, (1, 1, 1, 1)))
    op.ok(**qkv(gen, (0, 2, 3, 4)))
    op.ok(**qkv(gen, (1, 2, 0, 4), (1, 2, 3, 4)))
    for layout in (*LAYOUTS, channels_last):
        args = qkv(gen, (2, 2, 3, 4))
        op.ok(**{name: layout(t) for name, t in args.items()})
        op.ok(**args, attn_mask=layout(additive(gen, (2, 2, 3, 3), "f32")))
    args = qkv(gen, (1, 1, 3, 4))
    args["value"].view(-1)[0] = NAN
    op.ok(**args)
    args = qkv(gen, (1, 1, 3, 4))
    args["query"].view(-1)[5] = NAN
    op.ok(**args)
    op.bad(**qkv(gen, (1, 2, 3, 4), (1, 2, 3, 5)))
    op.bad(**qkv(gen, (1, 2, 3, 4), (1, 3, 3, 4)))
    op.bad(**qkv(gen, (1, 2, 3, 4)), attn_mask=visible(gen, (2, 3)))
    op.bad(**{**qkv(gen, (1, 2, 3, 4)), "key": gen.normal((1, 2, 3, 4), "f16")})
