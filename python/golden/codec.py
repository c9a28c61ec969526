"""How values and tensors are written as JSON."""

import base64
import math

import torch

DTYPES = {
    "f64": torch.float64,
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i64": torch.int64,
    "i32": torch.int32,
    "i16": torch.int16,
    "i8": torch.int8,
    "u8": torch.uint8,
    "bool": torch.bool,
    "f8e4m3": torch.float8_e4m3fn,
    "f8e5m2": torch.float8_e5m2,
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}


def raw(flat):
    """Base64 of the little-endian bytes of a contiguous 1-d tensor."""
    return base64.b64encode(bytes(flat.clone().untyped_storage())).decode("ascii")


def canonical_nan(t):
    """`t` with every NaN replaced by the positive quiet one, so that files do not vary by NaN bits."""
    if t.dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        bits = t.view(torch.uint8).clone()
        bits[torch.isnan(t.to(torch.float32))] = 0x7F
        return bits.view(t.dtype)
    if not t.dtype.is_floating_point:
        return t
    return torch.where(torch.isnan(t), torch.full((), math.nan, dtype=t.dtype), t)


def tensor(t):
    """A tensor with its layout: the storage from element 0 up to the last element addressed."""
    record = {"dtype": NAMES[t.dtype], "shape": list(t.shape)}
    if not t.is_contiguous():
        record["stride"] = list(t.stride())
    offset = t.storage_offset() if t.numel() else 0
    if offset:
        record["offset"] = offset
    n_stored = 0
    if t.numel():
        n_stored = offset + 1 + sum((n - 1) * s for n, s in zip(t.shape, t.stride()))
    record["data"] = raw(torch.as_strided(t, (n_stored,), (1,), 0))
    return record


def value(v):
    """An argument: see README.md for the forms."""
    if isinstance(v, torch.Tensor):
        return tensor(v)
    if isinstance(v, torch.dtype):
        return {"dtype": NAMES[v]}
    if isinstance(v, (list, tuple)):
        if any(isinstance(item, torch.Tensor) for item in v):
            return {"list": [None if item is None else tensor(item) for item in v]}
        return list(v)
    if isinstance(v, float) and not math.isfinite(v):
        return {"float": "nan" if math.isnan(v) else "inf" if v > 0 else "-inf"}
    return v
