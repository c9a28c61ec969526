"""Attention over paged caches, of vLLM: csrc/cache_kernels.cu, csrc/attention, and tests/kernels/attention.

The caches of `reshape_and_cache` and `paged_attention_v1` are [blocks, heads, d / x, block, x] for keys and [blocks,
heads, d, block] for values; those of `reshape_and_cache_flash` [blocks, block, heads, d]. Ops that write into caches
return them.
"""

import torch

from ..inputs import INF, LAYOUTS, NAN, Gen, tensor
from ..record import Op
from .common import computed, one_float_type, require


def check_slots(key, value, slot_mapping, slots):
    """Refuses tokens and slots that do not fit."""
    require(key.dim() == 3 and key.shape == value.shape, "[tokens, heads, d]")
    require(slot_mapping.dtype == torch.int64 and slot_mapping.dim() == 1, "slots are i64")
    require(slot_mapping.shape[0] <= key.shape[0], "a slot per token")
    if any(slot >= slots for slot in slot_mapping.tolist()):
        raise IndexError("a slot beyond the cache")


def reshape_and_cache(key, value, key_cache, value_cache, slot_mapping):
    """The caches with token t in slot slot_mapping[t]; negative slots are skipped."""
    one_float_type(key, value, key_cache, value_cache)
    require(key_cache.dim() == 5 and value_cache.dim() == 4, "caches of 5 and 4 dimensions")
    blocks, heads, parts, size, x = key_cache.shape
    require(tuple(value_cache.shape) == (blocks, heads, parts * x, size), "value_cache")
    require(tuple(key.shape[1:]) == (heads, parts * x), "key [tokens, heads, d]")
    check_slots(key, value, slot_mapping, blocks * size)
    key_cache, value_cache = key_cache.clone(), value_cache.clone()
    for token, slot in enumerate(slot_mapping.tolist()):
        if slot >= 0:
            block, place = divmod(slot, size)
            key_cache[block, :, :, place, :] = key[token].reshape(heads, parts, x)
            value_cache[block, :, :, place] = value[token]
    return key_cache, value_cache


def reshape_and_cache_flash(key, value, key_cache, value_cache, slot_mapping):
    """The same for caches [blocks, block, heads, d]."""
    one_float_type(key, value, key_cache, value_cache)
    require(key_cache.dim() == 4 and key_cache.shape == value_cache.shape, "caches of one shape")
    blocks, size, heads, d = key_cache.shape
    require(tuple(key.shape[1:]) == (heads, d), "key [tokens, heads, d]")
    check_slots(key, value, slot_mapping, blocks * size)
    key_cache, value_cache = key_cache.clone(), value_cache.clone()
    for token, slot in enumerate(slot_mapping.tolist()):
        if slot >= 0:
            key_cache[slot // size, slot % size] = key[token]
            value_cache[slot // size, slot % size] = value[token]
    return key_cache, value_cache


def paged_attention_v1(
    query, key_cache, value_cache, num_kv_heads, scale, block_tables, seq_lens, block_size, max_seq_len, alibi_slopes=None
):
    """One query per sequence over its first seq_lens cached tokens; a sequence without tokens gives 0."""
    one_float_type(query, key_cache, value_cache)
    require(query.dim() == 3 and key_cache.dim() == 5 and value_cache.dim() == 4, "dimensions")
    (seqs, heads, d), (blocks, kv_heads, parts, size, x) = query.shape, key_cache.shape
    require(kv_heads == num_kv_heads and heads % kv_heads == 0 and parts * x == d and size == block_size, "key_cache")
    require(tuple(value_cache.shape) == (blocks, kv_heads, d, size), "value_cache")
    require(block_tables.dtype == torch.int32 == seq_lens.dtype, "i32 tables")
    require(block_tables.dim() == 2 and block_tables.shape[0] == seqs and tuple(seq_lens.shape) == (seqs,), "tables")
    require(max_seq_len <= block_tables.shape[1] * size, "tables cover max_seq_len")
    require(alibi_slopes is None or tuple(alibi_slopes.shape) == (heads,), "alibi_slopes [heads]")
    out = torch.zeros(query.shape, dtype=torch.get_default_dtype())
    for seq in range(seqs):
        length = int(seq_lens[seq])
        if not 0 <= length <= max_seq_len:
            raise IndexError("a length beyond max_seq_len")
        places = [(int(block_tables[seq, t // size]), t % size) for t in range(length)]
        if any(not 0 <= block < blocks for block, _ in places):
            raise IndexError("a block beyond the cache")
        for head in range(heads if length else 0):
            kv = head // (heads // kv_heads)
            keys = torch.stack([computed(key_cache)[block, kv, :, place, :].reshape(-1) for block, place in places])
            values = torch.stack([computed(value_cache)[block, kv, :, place] for block, place in places])
            scores = scale * (keys @ computed(query)[seq, head])
            if alibi_slopes is not None:
                scores = scores + computed(alibi_slopes)[head] * computed(torch.arange(1 - length, 1))
            out[seq, head] = torch.softmax(scores, -1) @ values
    return out.to(query.dtype)


def merge_attn_states(prefix_output, prefix_lse, suffix_output, suffix_lse):
    """Attention over two parts of the keys as one; an infinite lse of either sign is a part without keys."""
    one_float_type(prefix_output, suffix_output)
    require(prefix_output.dim() == 3 and prefix_output.shape == suffix_output.shape, "[tokens, heads, d]")
    tokens, heads, _ = prefix_output.shape
    for lse in (prefix_lse, suffix_lse):
        require(lse.dtype in (torch.float32, torch.float64) and tuple(lse.shape) == (heads, tokens), "lse [heads, tokens]")
    lses = [torch.where(torch.isinf(lse), -INF, computed(lse)) for lse in (prefix_lse, suffix_lse)]
    most = torch.maximum(*lses)
    parts = [(lse - most).exp() for lse in lses]
    total = parts[0] + parts[1]
    scale = [(part / total).t().unsqueeze(-1) for part in parts]
    out = computed(prefix_output) * scale[0] + computed(suffix_output) * scale[1]
    nothing = most == -INF
    out = torch.where(nothing.t().unsqueeze(-1), computed(prefix_output), out)
    return out.to(prefix_output.dtype), torch.where(nothing, -INF, total.log() + most)


def caches():
    """The ops that write into caches."""
    op, flash = Op("reshape_and_cache", reshape_and_cache), Op("reshape_and_cache_flash", reshape_and_cache_flash)
    gen = Gen("reshape_and_cache")

    def both(slots, heads=2, d=8, blocks=3, size=4, x=4, dtype="f32", layout=lambda t: t, tokens=None):
        tokens = len(slots) if tokens is None else tokens
        args = {"key": layout(gen.normal((tokens, heads, d), dtype)), "value": layout(gen.normal((tokens, heads, d), dtype))}
        args["slot_mapping"] = torch.tensor(slots, dtype=torch.int64)
        old = [gen.normal((blocks, heads, d // x, size, x), dtype), gen.normal((blocks, heads, d, size), dtype)]
        op.ok(**args, key_cache=old[0], value_cache=old[1])
        old = [gen.normal((blocks, size, heads, d), dtype) for _ in range(2)]
        flash.ok(**args, key_cache=old[0], value_cache=old[1])

    for dtype in ("f32", "f16", "bf16"):
        both([0, 11, 5], dtype=dtype)
        # The ends of blocks, and tokens that are left out.
        both([3, -1, 4, 7, -1, 8], dtype=dtype)
    both([])
    both([2], heads=1, d=4, blocks=1)
    both([1, 0], tokens=4)
    both([9, 8], x=8)
    for layout in LAYOUTS[:3]:
        both([6, 1, 2], layout=layout)
    key = gen.normal((2, 2, 8))
    args = {"key": key, "value": key, "slot_mapping": torch.tensor([0, 1])}
    cache = {"key_cache": gen.normal((3, 2, 2, 4, 4)), "value_cache": gen.normal((3, 2, 8, 4))}
    op.bad(**args, **{**cache, "value_cache": gen.normal((3, 2, 4, 8))})
    op.bad(**{**args, "slot_mapping": torch.tensor([0, 12])}, **cache, note="values")
    op.bad(**{**args, "slot_mapping": torch.tensor([0, 1, 2])}, **cache)
    op.bad(**{**args, "value": gen.normal((2, 2, 4))}, **cache)
    cache = {"key_cache": gen.normal((3, 4, 2, 8)), "value_cache": gen.normal((3, 4, 2, 8))}
    flash.bad(**args, **{**cache, "value_cache": gen.normal((3, 4, 2, 4))})
    flash.bad(**{**args, "slot_mapping": torch.tensor([0, 12])}, **cache, note="values")
    flash.bad(**{**args, "key": gen.normal((2, 2, 8), "f16")}, **cache)


def paged():
    """paged_attention_v1."""
    op, gen = Op("paged_attention_v1", paged_attention_v1), Gen("paged_attention_v1")

    def args(lengths, heads=2, kv_heads=2, d=8, blocks=5, size=4, table=3, x=4, dtype="f32"):
        seqs = len(lengths)
        return {
            "query": gen.normal((seqs, heads, d), dtype),
            "key_cache": gen.normal((blocks, kv_heads, d // x, size, x), dtype),
            "value_cache": gen.normal((blocks, kv_heads, d, size), dtype),
            "num_kv_heads": kv_heads,
            "scale": d**-0.5,
            "block_tables": gen.ints((seqs, table), "i32", 0, blocks - 1),
            "seq_lens": torch.tensor(lengths, dtype=torch.int32),
            "block_size": size,
            "max_seq_len": table * size,
        }

    for dtype in ("f32", "f16", "bf16"):
        # No token, one, the ends of blocks, all.
        op.ok(**args([0, 1, 3, 4], dtype=dtype))
        op.ok(**args([5, 8, 12], heads=4, dtype=dtype))
        op.ok(**args([7, 2], heads=4, dtype=dtype), alibi_slopes=tensor([0.5, 0.25, 0.125, 0.0625]))
    op.ok(**args([]))
    op.ok(**args([1], heads=1, kv_heads=1, d=4, blocks=1, table=1))
    op.ok(**args([9, 10], x=8, size=8, table=2))
    # Blocks that a sequence does not reach are not read, whatever the table says.
    beyond = args([4, 1])
    beyond["block_tables"][:, 1:] = -7
    op.ok(**beyond)
    nan = args([3, 6])
    nan["value_cache"][int(nan["block_tables"][0, 0]), 0, 0, 3] = NAN
    op.ok(**nan)
    op.bad(**{**args([1]), "num_kv_heads": 1})
    op.bad(**{**args([1]), "block_size": 8})
    op.bad(**{**args([1]), "max_seq_len": 13})
    op.bad(**{**args([1]), "seq_lens": torch.tensor([1, 2], dtype=torch.int32)})
    op.bad(**args([1], heads=3))
    op.bad(**{**args([1]), "seq_lens": torch.tensor([13], dtype=torch.int32)}, note="values")


def merged():
    """merge_attn_states."""
    op, gen = Op("merge_attn_states", merge_attn_states), Gen("merge_attn_states")

    def args(tokens, heads, d, dtype="f32", layout=lambda t: t):
        return {
            "prefix_output": layout(gen.normal((tokens, heads, d), dtype)),
            "prefix_lse": gen.normal((heads, tokens), scale=3),
            "suffix_output": layout(gen.normal((tokens, heads, d), dtype)),
            "suffix_lse": gen.normal((heads, tokens), scale=3),
        }

    for dtype in ("f32", "f16", "bf16"):
        op.ok(**args(3, 2, 8, dtype))
        op.ok(**args(1, 1, 1, dtype))
    op.ok(**args(0, 2, 4))
    empty = args(2, 2, 4)
    empty["prefix_lse"] = tensor([[-INF, 1.0], [INF, 2.0]])
    op.ok(**empty)
    op.ok(**{**empty, "suffix_lse": tensor([[-INF, 1.0], [-INF, INF]])})
    far = args(2, 2, 4)
    far["suffix_lse"] = tensor([[500.0, -500.0], [90.0, NAN]])
    op.ok(**far)
    for layout in LAYOUTS:
        op.ok(**args(3, 2, 4, layout=layout))
    op.bad(**{**args(3, 2, 4), "prefix_lse": gen.normal((3, 2))})
    op.bad(**{**args(3, 2, 4), "suffix_output": gen.normal((3, 2, 5))})
    op.bad(**{**args(3, 2, 4), "suffix_lse": gen.normal((2, 3), "f16")})


def cases():
    """Every case of this file."""
    caches()
    paged()
    merged()
