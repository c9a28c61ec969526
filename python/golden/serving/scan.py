"""Mamba's layers: causal_conv1d_fn (causal-conv1d, vLLM) and selective_scan_fn (mamba_ssm, vLLM)."""

import torch
from torch.nn import functional

from ..inputs import LAYOUTS, NAN, Gen, tensor
from ..record import Op
from .common import computed, one_float_type, require


def causal_conv1d_fn(x, weight, bias=None, activation=None):
    """Each channel [batch, channels, n] with its own filter, which sees no later element; silu after it if asked."""
    one_float_type(x, weight, *([] if bias is None else [bias]))
    require(x.dim() == 3 and weight.dim() == 2 and weight.shape[0] == x.shape[1] and weight.shape[1], "weight [channels, w]")
    require(bias is None or tuple(bias.shape) == (x.shape[1],), "bias [channels]")
    require(activation in (None, "silu", "swish"), "an activation")
    taps = weight.shape[1]
    padded = functional.pad(computed(x), (taps - 1, 0))
    out = sum(padded[..., tap : tap + x.shape[2]] * computed(weight)[:, tap, None] for tap in range(taps))
    if bias is not None:
        out = out + computed(bias)[:, None]
    return (functional.silu(out) if activation else out).to(x.dtype)


def check_scan(u, delta, A, B, C, D, z, delta_bias):
    """Refuses what selective_scan_fn does not take."""
    one_float_type(u, delta, B, C, *([] if z is None else [z]))
    require(u.dim() == 3 and u.shape == delta.shape and (z is None or z.shape == u.shape), "u [batch, channels, n]")
    batch, channels, length = u.shape
    require(A.dim() == 2 and A.shape[0] == channels, "A [channels, states]")
    require(B.dim() == 4 and B.shape == C.shape, "B and C [batch, groups, states, n]")
    require((B.shape[0], B.shape[2], B.shape[3]) == (batch, A.shape[1], length), "B [batch, groups, states, n]")
    require(B.shape[1] and channels % B.shape[1] == 0, "groups divide the channels")
    for t in (A, D, delta_bias):
        require(t is None or t.dtype in (torch.float32, torch.float64), "A, D and delta_bias are f32")
    for t in (D, delta_bias):
        require(t is None or tuple(t.shape) == (channels,), "D and delta_bias are [channels]")


def selective_scan_fn(u, delta, A, B, C, D=None, z=None, delta_bias=None, delta_softplus=False):
    """(out, last state): state = exp(delta A) state + delta B u, out = (state C + D u) silu(z), along the last dimension."""
    check_scan(u, delta, A, B, C, D, z, delta_bias)
    step, x, a = computed(delta), computed(u), computed(A)
    if delta_bias is not None:
        step = step + computed(delta_bias)[:, None]
    if delta_softplus:
        step = functional.softplus(step)
    each = u.shape[1] // B.shape[1]
    b, c = (computed(t).repeat_interleave(each, 1) for t in (B, C))
    state, outs = torch.zeros(*u.shape[:2], A.shape[1], dtype=x.dtype), []
    for at in range(u.shape[2]):
        now = step[:, :, at, None]
        state = torch.exp(now * a) * state + now * b[:, :, :, at] * x[:, :, at, None]
        outs.append((state * c[:, :, :, at]).sum(-1))
    out = torch.stack(outs, -1) if outs else torch.zeros_like(x)
    if D is not None:
        out = out + computed(D)[:, None] * x
    if z is not None:
        out = out * functional.silu(computed(z))
    return out.to(u.dtype), state


def cases():
    """Every case of this file."""
    op, gen = Op("causal_conv1d_fn", causal_conv1d_fn), Gen("causal_conv1d_fn")
    for dtype in ("f32", "f16", "bf16"):
        for shape, taps in (((2, 3, 8), 4), ((1, 1, 1), 3), ((1, 2, 5), 2), ((2, 2, 3), 1)):
            args = {"x": gen.normal(shape, dtype), "weight": gen.normal((shape[1], taps), dtype)}
            op.ok(**args)
            op.ok(**args, bias=gen.normal((shape[1],), dtype), activation="silu")
    args = {"x": gen.normal((2, 3, 6)), "weight": gen.normal((3, 4))}
    op.ok(**{**args, "x": gen.normal((0, 3, 6))})
    op.ok(**{**args, "x": gen.normal((2, 3, 0))})
    op.ok(**{**args, "x": tensor([[[1.0, NAN, 2.0, 3.0, 4.0, 5.0, 6.0]]]), "weight": tensor([[1.0, 2.0, 0.0]])})
    op.ok(**args, activation="swish")
    for layout in LAYOUTS:
        op.ok(**{**args, "x": layout(gen.normal((2, 3, 6)))})
    op.bad(**{**args, "weight": gen.normal((2, 4))})
    op.bad(**args, activation="relu")
    op.bad(**args, bias=gen.normal((4,)))
    op.bad(**{**args, "weight": gen.normal((3, 4), "f16")})

    op, gen = Op("selective_scan_fn", selective_scan_fn), Gen("selective_scan_fn")

    def scan(batch, channels, length, states, groups=1, dtype="f32", layout=lambda t: t):
        return {
            "u": layout(gen.normal((batch, channels, length), dtype)),
            "delta": layout(gen.uniform((batch, channels, length), dtype, 0.01, 0.5)),
            "A": gen.uniform((channels, states), "f32", -2, -0.1),
            "B": gen.normal((batch, groups, states, length), dtype),
            "C": gen.normal((batch, groups, states, length), dtype),
        }

    for dtype in ("f32", "f16", "bf16"):
        op.ok(**scan(2, 3, 5, 4, dtype=dtype))
        more = {"D": gen.normal((4,)), "z": gen.normal((1, 4, 6), dtype), "delta_bias": gen.normal((4,))}
        op.ok(**scan(1, 4, 6, 2, 2, dtype), **more, delta_softplus=True)
        op.ok(**scan(1, 4, 6, 2, 4, dtype), D=more["D"])
        op.ok(**scan(1, 4, 6, 2, 1, dtype), z=more["z"])
    op.ok(**scan(1, 1, 1, 1))
    op.ok(**scan(0, 2, 3, 2))
    op.ok(**scan(1, 2, 0, 2))
    for layout in LAYOUTS:
        op.ok(**scan(2, 2, 4, 3, layout=layout))
    op.bad(**scan(1, 3, 4, 2, 2))
    op.bad(**{**scan(1, 2, 4, 2), "A": gen.normal((2, 3))})
    op.bad(**{**scan(1, 2, 4, 2), "delta": gen.normal((1, 2, 5))})
    op.bad(**scan(1, 2, 4, 2), D=gen.normal((3,)))
    op.bad(**scan(1, 2, 4, 2), z=gen.normal((1, 2, 4), "f16"))
