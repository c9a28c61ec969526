"""How tensors come to be while a module and its inputs are made: draws are recorded, not made."""

import math

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

# Larger ones stay without values: originals reach many GiB.
REAL_LIMIT = 1 << 22
LOST = {"kind": "lost"}
EMPTY = {"kind": "empty"}
COPIES = set("clone _to_copy contiguous lift_fresh lift_fresh_copy index_select gather repeat reshape".split())
FACTORIES = {"zeros", "ones", "full"}


def key_of(tensor):
    return tensor.untyped_storage()._cdata


def whole(tensor):
    return tensor.numel() * tensor.element_size() >= tensor.untyped_storage().nbytes()


def base_name(func):
    return func._schema.name.split("::")[1]


def on_cpu(kwargs):
    """Keyword arguments without a device: nothing here runs on another."""
    return {**kwargs, "device": torch.device("cpu")} if kwargs.get("device") is not None else kwargs


def affine(init, scale, offset):
    """The distribution of `scale * x + offset`."""
    kind = init["kind"]
    if kind == "uniform":
        ends = sorted(scale * init[end] + offset for end in ("low", "high"))
        return {**init, "low": ends[0], "high": ends[1]}
    if kind == "normal":
        return {**init, "mean": scale * init["mean"] + offset, "std": abs(scale) * init["std"]}
    if kind == "fill":
        return {**init, "value": scale * init["value"] + offset}
    if kind in ("integers", "bernoulli"):
        if kind == "integers" and scale == 1 and isinstance(offset, int) and "scale" not in init:
            return {**init, "low": init["low"] + offset, "high": init["high"] + offset}
        old = init.get("scale", 1), init.get("offset", 0)
        return {**init, "scale": old[0] * scale, "offset": old[1] * scale + offset}
    return LOST


def cast(init, dtype):
    if dtype == torch.bool:
        if init["kind"] == "integers" and "scale" not in init:
            n = init["high"] - init["low"]
            return {"kind": "bernoulli", "p": 1 - (1 / n if init["low"] <= 0 < init["high"] else 0)}
        return init if init["kind"] in ("bernoulli", "empty") else LOST
    if not dtype.is_floating_point and init["kind"] in ("uniform", "normal"):
        return LOST
    return init


class Recorder(TorchDispatchMode):
    """Keeps small tensors real unless something drawn goes into them; everything else is fake and has a history."""

    def __init__(self, fake_mode):
        super().__init__()
        self.fake_mode = fake_mode
        self.inits = {}
        self.kept = []

    def drawn(self, tensor):
        return isinstance(tensor, FakeTensor) or key_of(tensor) in self.inits

    def init_of(self, tensor):
        """Its distribution; None for a real tensor that is what it holds."""
        return self.inits.get(key_of(tensor), LOST if isinstance(tensor, FakeTensor) else None)

    def note(self, tensor, init):
        self.kept.append(tensor)
        old = self.inits.get(key_of(tensor))
        partial = not whole(tensor) and old is not None and old != init
        self.inits[key_of(tensor)] = LOST if partial else init

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = on_cpu(kwargs or {})
        name = base_name(func)
        tensors = [t for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        random = torch.Tag.nondeterministic_seeded in func.tags or name.startswith(("empty", "new_empty"))
        large = not tensors and name in FACTORIES and math.prod(args[0]) > REAL_LIMIT
        if not random and not large and not any(map(self.drawn, tensors)):
            return func(*args, **kwargs)
        if name.endswith("_") and not name.endswith("__"):
            self.in_place(func, name[:-1], args, kwargs)
            return args[0]
        with self.fake_mode:
            out = func(*args, **kwargs)
        before = {key_of(t) for t in tensors}
        for tensor in tree_leaves(out):
            if isinstance(tensor, torch.Tensor) and key_of(tensor) not in before:
                self.note(tensor, self.result(func, name, args, kwargs, tensor))
        return out

    def in_place(self, func, name, args, kwargs):
        target = args[0]
        if name in ("resize", "set"):
            with self.fake_mode:
                func(*args, **kwargs)
        init = self.filled(func, name, args, kwargs) or self.result(func, name, args, kwargs, target)
        self.note(target, cast(init, target.dtype))

    def filled(self, func, name, args, kwargs):
        """What a method that overwrites its target leaves there."""
        given = {a.name: v for a, v in zip(func._schema.arguments, args)} | kwargs
        if name == "uniform":
            return {"kind": "uniform", "low": given.get("from", 0.0), "high": given.get("to", 1.0)}
        if name == "normal":
            return {"kind": "normal", "mean": given.get("mean", 0.0), "std": given.get("std", 1.0)}
        if name == "zero":
            return {"kind": "fill", "value": 0}
        if name == "fill":
            value = given["value"]
            if isinstance(value, torch.Tensor):
                return LOST if self.drawn(value) else {"kind": "fill", "value": value.item()}
            return {"kind": "fill", "value": value}
        if name == "random" and "to" in given:
            return {"kind": "integers", "low": given.get("from", 0), "high": given["to"]}
        if name == "bernoulli" and not isinstance(given.get("p"), torch.Tensor):
            return {"kind": "bernoulli", "p": given.get("p", 0.5)}
        if name == "copy":
            return self.init_of(args[1]) or LOST
        return None

    def result(self, func, name, args, kwargs, out):
        """The distribution of a new tensor."""
        if name in ("rand", "rand_like"):
            return {"kind": "uniform", "low": 0.0, "high": 1.0}
        if name in ("randn", "randn_like"):
            return {"kind": "normal", "mean": 0.0, "std": 1.0}
        if name in ("randint", "randint_like"):
            given = {a.name: v for a, v in zip(func._schema.arguments, args)} | kwargs
            return {"kind": "integers", "low": given.get("low", 0), "high": given["high"]}
        if name in ("normal", "normal_functional") and all(isinstance(v, (int, float)) for v in args[:2]):
            return {"kind": "normal", "mean": args[0] if args else 0.0, "std": args[1] if len(args) > 1 else 1.0}
        if name.startswith(("empty", "new_empty")):
            return EMPTY
        if name in ("zeros", "zeros_like", "new_zeros"):
            return {"kind": "fill", "value": 0}
        if name in ("ones", "ones_like", "new_ones"):
            return {"kind": "fill", "value": 1}
        if name in ("full", "full_like", "new_full"):
            return {"kind": "fill", "value": args[-1]}
        if name in COPIES and isinstance(args[0], torch.Tensor):
            return cast(self.init_of(args[0]) or LOST, out.dtype)
        if name in ("cat", "stack"):
            inits = [self.init_of(t) for t in args[0]]
            return inits[0] if inits[0] and all(i == inits[0] for i in inits) else LOST
        if name in ("triu", "tril") and args[1:] in ((), (0,)) and "diagonal" not in kwargs and out.dim() > 1:
            init = self.init_of(args[0]) or LOST
            known = init["kind"] in ("uniform", "normal", "integers") and "offset" not in init
            return {**init, "structure": "upper" if name == "triu" else "lower"} if known else LOST
        return self.followed(func, name, args, kwargs) or LOST

    def followed(self, func, name, args, kwargs):
        """Affine maps of a draw by numbers, and draws compared with a number."""
        values = list(args) + ([kwargs["other"]] if "other" in kwargs else [])
        drawn = [i for i, v in enumerate(values) if isinstance(v, torch.Tensor) and self.drawn(v)]
        if len(drawn) != 1:
            return None
        init = self.init_of(values[drawn[0]])
        if name == "neg":
            return affine(init, -1, 0)
        if len(values) < 2 or kwargs.get("rounding_mode"):
            return None
        other = values[1 - drawn[0]]
        if isinstance(other, torch.Tensor):
            if other.numel() != 1:
                return None
            other = other.item()
        if not isinstance(other, (int, float)) or not math.isfinite(other):
            return None
        alpha, first = kwargs.get("alpha", 1), drawn[0] == 0
        if name == "add":
            return affine(init, 1, alpha * other) if first else affine(init, alpha, other)
        if name == "sub":
            return affine(init, 1, -alpha * other) if first else affine(init, -alpha, other)
        if name == "rsub":
            return affine(init, -alpha, other)
        if name == "mul":
            return affine(init, other, 0)
        if name == "div" and first and other:
            return affine(init, 1 / other, 0)
        if name in ("gt", "ge", "lt", "le") and first and init["kind"] == "uniform":
            above = min(1.0, max(0.0, (init["high"] - other) / (init["high"] - init["low"] or 1)))
            return {"kind": "bernoulli", "p": above if name[0] == "g" else 1 - above}
        return None


def structure(values):
    """What the last two dimensions of a measured tensor have in common with all tensors made like it."""
    if values.dim() < 2 or values.shape[-1] != values.shape[-2] or values.shape[-1] < 3:
        return None
    if torch.equal(values, values.triu()):
        return "upper"
    if torch.equal(values, values.tril()):
        return "lower"
    return "symmetric" if torch.equal(values, values.mT) else None


def measured(values):
    """A distribution like that of `values`, a real tensor."""
    found = {"measured": True}
    kind = structure(values)
    if kind:
        found["structure"] = kind
        n = values.shape[-1]
        rows, columns = torch.tril_indices(n, n) if kind == "lower" else torch.triu_indices(n, n)
        values = values[..., rows, columns]
    if values.dtype == torch.bool:
        return {"kind": "bernoulli", "p": float(values.double().mean()), **found}
    low, high = values.min().item(), values.max().item()
    if not values.dtype.is_floating_point:
        return {"kind": "integers", "low": low, "high": high + 1, **found}
    values = values.double()
    if low == high:
        return {"kind": "fill", "value": low, **found}
    mean, std = float(values.mean()), float(values.std(correction=0))
    kurtosis = float(((values - mean) / std).pow(4).mean())
    if low >= 0 or kurtosis < 2.4 or values.numel() < 30:
        return {"kind": "uniform", "low": low, "high": high, **found}
    return {"kind": "normal", "mean": mean, "std": std, **found}
