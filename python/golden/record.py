"""The cases of one op: each is run in its storage dtypes and again in f64."""

import json

import torch

from . import codec

OPS = {}
# What went against expectation: valid calls that torch refused, invalid ones that it took.
PROBLEMS = []


def aten(name):
    """The overload `name` ("add.Tensor", or "relu" for "relu.default") as a function of keywords."""
    base, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, base), overload or "default")


def precise(name):
    """The overload `name`, computed in f64 and rounded once: its kernel in f32 is off by many ulps."""
    call = aten(name)

    def called(self, **args):
        dtype = call(self=self.new_empty(self.shape), **args).dtype if self.dtype.is_floating_point else torch.get_default_dtype()
        return call(self=self.double(), **args).to(dtype)

    return called


def flat(result):
    """The outputs of a call as a list of contiguous tensors."""
    results = [result] if isinstance(result, torch.Tensor) else list(result)
    return [codec.canonical_nan(t.clone(memory_format=torch.contiguous_format)) for t in results]


def widened(v):
    """`v` with every floating-point tensor and dtype made f64."""
    if isinstance(v, torch.Tensor):
        return v.to(torch.float64) if v.dtype.is_floating_point else v
    if isinstance(v, torch.dtype):
        return torch.float64 if v.is_floating_point else v
    if isinstance(v, (list, tuple)):
        return [widened(item) for item in v]
    return v


def in_f32(v):
    """`v` with f16 and bf16 tensors made f32."""
    low = isinstance(v, torch.Tensor) and v.dtype in (torch.float16, torch.bfloat16)
    return v.float() if low else v


def in_f64(call, args):
    """The outputs of `call` on the widened arguments, integers also promoting to f64."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        return flat(call(**{name: widened(v) for name, v in args.items()}))
    finally:
        torch.set_default_dtype(before)


def has_nan(tensors):
    """Whether a floating-point tensor of `tensors` holds a NaN."""
    floats = [t for t in tensors if t.dtype.is_floating_point]
    return any(bool(torch.isnan(t.to(torch.float64)).any()) for t in floats)


def tensors_of(args):
    """Every tensor among the arguments."""
    for v in args.values():
        if isinstance(v, torch.Tensor):
            yield v
        elif isinstance(v, (list, tuple)):
            yield from (item for item in v if isinstance(item, torch.Tensor))


class Op:
    """Collects the cases of one op of the catalogue.

    `call` takes the arguments by the schema's names and runs in the storage dtypes. `ref` gives the f64
    result when that is not `call` on widened arguments (an op that rounds by definition). `once`: f16 and bf16
    are computed in f32 and rounded once, because the CPU's kernel rounds between its steps.
    """

    def __init__(self, name, call=None, ref=None, once=False):
        self.name = name
        self.call = call or aten(name)
        self.ref = ref or self.call
        self.once = once
        self.lines = []
        assert name not in OPS, name
        OPS[name] = self

    def ok(self, /, note=None, instead=None, **args):
        """Adds a valid call; torch must accept it. `instead`: arguments that differ in the f64 run."""
        encoded = {name: codec.value(v) for name, v in args.items()}
        try:
            outputs = self.run(args)
            refs = in_f64(self.ref, {**args, **(instead or {})})
        except Exception as error:
            PROBLEMS.append(f"{self.name}: {describe(args)}: {str(error).strip()[:300]}")
            return
        assert encoded == {name: codec.value(v) for name, v in args.items()}, f"{self.name} changed an input"
        record = {
            "args": encoded,
            "outputs": [codec.tensor(t) for t in outputs],
            "f64": [self.reference(out, ref) for out, ref in zip(outputs, refs, strict=True)],
        }
        notes = [note] if note else []
        if has_nan([*tensors_of(args), *outputs]):
            notes.append("nan")
        if notes:
            record["note"] = ",".join(notes)
        self.lines.append(json.dumps(record, separators=(",", ":"), allow_nan=False))

    def run(self, args):
        """The outputs in the storage dtypes."""
        outputs = flat(self.call(**args))
        if not self.once:
            return outputs
        wide = flat(self.call(**{name: in_f32(v) for name, v in args.items()}))
        return [codec.canonical_nan(w.to(out.dtype)) for out, w in zip(outputs, wide, strict=True)]

    def reference(self, out, ref):
        """The f64 field of one output: null where the output is not floating-point."""
        assert out.shape == ref.shape, f"{self.name}: {out.shape} and {ref.shape}"
        if not out.dtype.is_floating_point:
            assert ref.dtype == out.dtype, f"{self.name}: {out.dtype} and {ref.dtype}"
            return None
        assert ref.dtype == torch.float64, f"{self.name}: the f64 result is {ref.dtype}"
        return codec.raw(ref.reshape(-1))

    def bad(self, /, note=None, **args):
        """Adds an invalid call; torch must refuse it. The note "values": for a value in a tensor, not for its shape."""
        encoded = {name: codec.value(v) for name, v in args.items()}
        try:
            self.call(**args)
        except Exception as error:
            text = (str(error).strip() or type(error).__name__).splitlines()[0][:120]
            record = {"args": encoded, "raises": text, **({"note": note} if note else {})}
            self.lines.append(json.dumps(record, separators=(",", ":"), allow_nan=False))
            return
        PROBLEMS.append(f"{self.name}: torch accepts {describe(args)}")


def describe(args):
    """The arguments in short, for messages."""

    def short(v):
        return f"{codec.NAMES[v.dtype]}{list(v.shape)}" if isinstance(v, torch.Tensor) else repr(v)

    return ", ".join(f"{name}={short(v)}" for name, v in args.items())
