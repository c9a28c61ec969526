"""Values and tensors of the protocol."""

import math

from .refusal import Refusal, bad, torch

# The element types: their names in kgen and in torch.
NAMES = "f64 f32 f16 bf16 i64 i32 i16 i8 u8 bool f8e4m3 f8e5m2".split()
TORCH = "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool float8_e4m3fn float8_e5m2".split()
DTYPES = dict(zip(NAMES, TORCH))


def dtype_of(name):
    return getattr(torch, DTYPES[name])


def dtype_name(dtype):
    return next((name for name in NAMES if dtype_of(name) == dtype), str(dtype))


def overload_of(name):
    """`torch.ops.aten.add.Tensor` for `add.Tensor`."""
    base, _, overload = name.partition(".")
    try:
        return getattr(getattr(torch.ops.aten, base), overload or "default")
    except AttributeError as error:
        raise Refusal("unsupported", f"this PyTorch has no operator aten::{name}") from error


SCALARS = {"int": int, "float": float, "bool": bool, "str": str, "dtype": dtype_of, "none": lambda _: None}
PLAIN = {**SCALARS, "ints": list, "floats": lambda values: [float(value) for value in values]}


def value_of(value, memory):
    """An argument of the protocol as Python sees it."""
    [(form, content)] = value.items()
    if form == "tensor":
        return memory.tensor(content)
    if form == "tensors":
        return [None if item is None else memory.tensor(item) for item in content]
    if form not in PLAIN:
        raise bad(f"there is no form of value {form!r}")
    return PLAIN[form](content)


def laid_out(raw, spec):
    """The tensor that `spec` describes over the bytes `raw` of its storage."""
    dtype, shape = dtype_of(spec["dtype"]), spec["shape"]
    elements = raw[: raw.numel() // dtype.itemsize * dtype.itemsize].view(dtype)
    offset = spec.get("offset", 0) if math.prod(shape) else 0
    stride = spec.get("stride") or torch.empty(shape, device="meta").stride()
    try:
        return torch.as_strided(elements, shape, stride, offset)
    except RuntimeError as error:
        raise bad(f"a tensor does not lie in its place: {error}") from error
