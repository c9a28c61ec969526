"""Calls of PyTorch's operators as JSON, and back.

A value is an object of one key: {"tensor": T}, {"int": 3}, {"float": 0.5 | "nan" | "inf" | "-inf"}, {"bool": true},
{"str": "mean"}, {"dtype": "f16"}, {"complex": [re, im]}, {"device": "cpu"}, {"layout": ".."}, {"memory_format": ".."},
{"none": null} or {"list": [VALUE, ..]}.
T is {"dtype", "shape", "stride"?, "data"?}: `stride` (in elements) where the tensor is not contiguous; `data` is base64 of the
elements in row-major order of `shape` (not of memory), little-endian, one byte for a bool; left out where there are too many."""

import base64
import math

import torch

DTYPES = {
    "f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16,
    "f8e4m3": torch.float8_e4m3fn, "f8e5m2": torch.float8_e5m2,
    "i64": torch.int64, "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8, "b8": torch.bool,
    "u16": torch.uint16, "u32": torch.uint32, "u64": torch.uint64,
    "c32": torch.complex32, "c64": torch.complex64, "c128": torch.complex128,
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
WIDER = {torch.float16: torch.float64, torch.bfloat16: torch.float64, torch.float32: torch.float64,
         torch.complex32: torch.complex128, torch.complex64: torch.complex128}


class Unusual(Exception):
    """The call has something that has no form here: a sparse tensor, a generator, a subclass."""


def tensor(t, limit=4096):
    if type(t) not in (torch.Tensor, torch.nn.Parameter) or t.layout != torch.strided or t.is_quantized:
        raise Unusual(str(type(t)))
    if t.dtype not in NAMES:
        raise Unusual(str(t.dtype))
    out = {"dtype": NAMES[t.dtype], "shape": list(t.shape)}
    if not t.is_contiguous():
        out["stride"] = list(t.stride())
    if t.device.type == "cpu" and t.numel() <= limit:
        flat = t.detach().resolve_conj().resolve_neg().contiguous().reshape(-1)
        out["data"] = base64.b64encode(flat.view(torch.uint8).numpy().tobytes()).decode() if flat.numel() else ""
    return out


def value(v, limit=4096):
    if isinstance(v, torch.Tensor):
        return {"tensor": tensor(v, limit)}
    if v is None:
        return {"none": None}
    if isinstance(v, bool):
        return {"bool": v}
    if isinstance(v, int):
        return {"int": v}
    if isinstance(v, float):
        return {"float": v if math.isfinite(v) else str(v)}
    if isinstance(v, complex):
        return {"complex": [v.real, v.imag]}
    if isinstance(v, str):
        return {"str": v}
    if isinstance(v, torch.dtype) and v in NAMES:
        return {"dtype": NAMES[v]}
    if isinstance(v, torch.device):
        return {"device": str(v)}
    if isinstance(v, torch.layout):
        return {"layout": str(v)}
    if isinstance(v, torch.memory_format):
        return {"memory_format": str(v)}
    if isinstance(v, (list, tuple)):
        return {"list": [value(x, limit) for x in v]}
    raise Unusual(str(type(v)))


def signature(v):
    """What tells calls apart but for the elements of tensors."""
    if isinstance(v, torch.Tensor):
        return (v.dtype, tuple(v.shape), tuple(v.stride()) if v.layout == torch.strided else None)
    if isinstance(v, (list, tuple)):
        return tuple(signature(x) for x in v)
    return (type(v).__name__, str(v))


def read_tensor(t):
    dtype = DTYPES[t["dtype"]]
    shape = t["shape"]
    if t.get("data") is None:
        flat = torch.zeros(math.prod(shape), dtype=dtype)
    elif t["data"] == "":
        flat = torch.zeros(0, dtype=dtype)
    else:
        flat = torch.frombuffer(bytearray(base64.b64decode(t["data"])), dtype=torch.uint8).view(dtype)
    made = flat.reshape(shape)
    if "stride" in t and made.numel():
        extent = 1 + sum((n - 1) * s for n, s in zip(shape, t["stride"]))
        place, at = torch.zeros(extent, dtype=dtype), torch.zeros(1, dtype=torch.int64)
        for n, s in zip(shape, t["stride"]):
            at = (at[:, None] + torch.arange(n) * s).reshape(-1)
        place[at] = made.reshape(-1)
        made = place.as_strided(shape, t["stride"])
    return made


def read_value(v):
    (kind, x), = v.items()
    if kind == "tensor":
        return read_tensor(x)
    if kind == "list":
        return [read_value(y) for y in x]
    if kind == "float":
        return float(x)
    if kind == "complex":
        return complex(*x)
    if kind == "dtype":
        return DTYPES[x]
    if kind == "device":
        return torch.device(x)
    if kind in ("layout", "memory_format"):
        return getattr(torch, x.split(".")[-1])
    return x


def widened(v):
    """The same value with floating types of 64 bits; a copy where it is a tensor."""
    if isinstance(v, torch.Tensor):
        return v.detach().to(WIDER.get(v.dtype, v.dtype), copy=True)
    if isinstance(v, torch.dtype):
        return WIDER.get(v, v)
    if isinstance(v, (list, tuple)):
        return [widened(x) for x in v]
    return v


def overload(name):
    """torch.ops.aten.add.Tensor of "aten.add.Tensor"."""
    space, base, over = name.split(".")
    return getattr(getattr(getattr(torch.ops, space), base), over)


def split_args(schema, named):
    """Positional and keyword arguments of a call by names. A positional argument that is left out before one that is
    given has its default."""
    names = [a.name for a in schema.arguments if not a.kwarg_only]
    last = max([i for i, n in enumerate(names) if n in named], default=-1)
    args = []
    for a in [a for a in schema.arguments if not a.kwarg_only][: last + 1]:
        if a.name not in named and not a.has_default_value():
            raise TypeError(f"{schema.name}() is missing value for argument '{a.name}'")
        args.append(named[a.name] if a.name in named else a.default_value)
    return args, {n: v for n, v in named.items() if n not in names}


def outputs(out, limit=4096):
    if isinstance(out, torch.Tensor):
        return [{"tensor": tensor(out, limit)}]
    if isinstance(out, (list, tuple)):
        return [value(x, limit) for x in out]
    return [] if out is None else [value(out, limit)]


def message(error):
    text = str(error).strip()
    for mark in ("\nException raised from", "\nFound in:", "\n\nWhile executing"):
        text = text.split(mark)[0]
    return text[:600]
