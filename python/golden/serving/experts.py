"""Mixtures of experts: vLLM's csrc/moe, and the reference of tests/kernels/moe/test_moe_align_block_size.py."""

import torch

from ..inputs import INF, LAYOUTS, NAN, Gen, tensor
from ..record import Op
from .common import one_float_type, require, wide


def moe_sum(input):
    """The sum over the experts: [tokens, k, n] to [tokens, n]."""
    one_float_type(input)
    require(input.dim() == 3, "[tokens, k, n]")
    return wide(input).sum(1).to(input.dtype)


def moe_align_block_size(topk_ids, num_experts, block_size):
    """(sorted token ids, experts of the blocks, tokens with padding): the places of each expert's tokens, padded to blocks."""
    require(num_experts > 0 and block_size > 0 and not topk_ids.dtype.is_floating_point, "integers")
    flat = topk_ids.reshape(-1).tolist()
    if any(not 0 <= expert < num_experts for expert in flat):
        raise IndexError("an expert that is none")
    length = len(flat) + num_experts * (block_size - 1)
    if len(flat) < num_experts:
        length = min(length, len(flat) * block_size)
    order, blocks = [], []
    for expert in range(num_experts):
        places = [at for at, of in enumerate(flat) if of == expert]
        n_blocks = -(-len(places) // block_size)
        order += places + [len(flat)] * (n_blocks * block_size - len(places))
        blocks += [expert] * n_blocks
    count = len(order)
    order += [len(flat)] * (length - count)
    blocks += [-1] * (-(-length // block_size) - len(blocks))
    return tuple(torch.tensor(values, dtype=torch.int32) for values in (order, blocks, [count]))


def cases():
    """Every case of this file."""
    op, gen = Op("moe_sum", moe_sum), Gen("moe_sum")
    for dtype in ("f32", "f16", "bf16"):
        for shape in ((3, 2, 8), (1, 5, 3), (2, 1, 4)):
            op.ok(input=gen.normal(shape, dtype))
    for shape in ((0, 2, 4), (2, 2, 0), (2, 0, 3)):
        op.ok(input=gen.normal(shape))
    op.ok(input=tensor([[[NAN, 1.0, INF, INF], [1.0, -0.0, 1.0, -INF]]]))
    for layout in LAYOUTS:
        op.ok(input=layout(gen.normal((3, 2, 4))))
    op.bad(input=gen.normal((2, 4)))
    op.bad(input=gen.ints((2, 2, 4)))

    op, gen = Op("moe_align_block_size", moe_align_block_size), Gen("moe_align_block_size")
    for shape, experts, block in (
        ((5, 2), 4, 4),
        ((1, 1), 1, 1),
        ((3, 2), 8, 1),
        ((9, 1), 2, 16),
        ((4, 4), 3, 5),
        ((0, 2), 3, 4),
        ((8,), 2, 4),
        ((2, 1), 9, 4),
    ):
        op.ok(topk_ids=gen.ints(shape, "i32", 0, experts - 1), num_experts=experts, block_size=block)
    op.ok(topk_ids=gen.ints((5, 2), "i64", 0, 3), num_experts=4, block_size=2)
    # All tokens to one expert; the counts of all experts whole blocks.
    op.ok(topk_ids=tensor([[2.0, 2.0], [2.0, 2.0]]).int(), num_experts=5, block_size=3)
    op.ok(topk_ids=tensor([[0.0, 1.0], [1.0, 0.0]]).int(), num_experts=2, block_size=2)
    for layout in LAYOUTS:
        op.ok(topk_ids=layout(gen.ints((4, 3), "i32", 0, 4)), num_experts=5, block_size=4)
    op.bad(topk_ids=gen.normal((2, 2)), num_experts=2, block_size=2)
    op.bad(topk_ids=gen.ints((2, 2), "i32", 0, 1), num_experts=0, block_size=2)
    op.bad(topk_ids=gen.ints((2, 2), "i32", 0, 1), num_experts=2, block_size=0)
    op.bad(topk_ids=tensor([[5.0]]).int(), num_experts=5, block_size=2, note="values")
    op.bad(topk_ids=tensor([[-1.0]]).int(), num_experts=5, block_size=2, note="values")
