"""Implementations of ops as functions without arguments."""

import contextlib
import functools
import importlib.util
import os
import tempfile
import time
import types

from .libraries import LIBRARIES, bound
from .refusal import Refusal, bad, need, torch
from .tensors import overload_of

if torch is not None:
    from torch.utils._python_dispatch import TorchDispatchMode

# Operators whose CUDA kernels read every tensor as if it were contiguous.
READS_CONTIGUOUS = ("_embedding_bag.default",)


def bind(overload, args):
    """Positional and keyword arguments of a call; positional ones that were left out take the schema's defaults."""
    if overload is None:
        # Scalars by name: those that have their defaults may be left out.
        by_place = [value for _, value in args if holds_tensors(value)]
        return by_place, {name: value for name, value in args if not holds_tensors(value)}
    given = dict(args)
    declared = overload._schema.arguments
    unknown = set(given) - {argument.name for argument in declared}
    if unknown:
        raise bad(f"{overload} has no argument {sorted(unknown)[0]!r}")
    by_position = [argument for argument in declared if not argument.kwarg_only]
    last = max((i for i, argument in enumerate(by_position) if argument.name in given), default=-1)
    return [given.pop(argument.name, argument.default_value) for argument in by_position[: last + 1]], given


def holds_tensors(value):
    return isinstance(value, torch.Tensor) or isinstance(value, list) and any(map(torch.is_tensor, value))


def without_side_effects(overload, args):
    """The operator and arguments that give the same outputs and leave what they are given as it was."""
    given = dict(args)
    if str(overload) == "aten.native_batch_norm.default" and given.get("running_mean") is not None:
        return torch.ops.aten._native_batch_norm_legit_functional.default, args
    if str(overload) == "aten.instance_norm.default" and given["use_input_stats"]:
        return overload, [(name, None if name.startswith("running_") else value) for name, value in args]
    return overload, args


def bound_aten(request, args):
    need(request.get("aten"), f"{request['op']} has no ATen operator")
    overload, args = without_side_effects(overload_of(request["aten"]), args)
    return overload, *bind(overload, args)


def aten(request, args, scratch):
    if request.get("source"):
        return triton_module(request, args, scratch)
    function, positional, keywords = bound_aten(request, args)
    if request["aten"] in READS_CONTIGUOUS:
        return lambda: function(*map(contiguous, positional), **keywords)
    return lambda: function(*positional, **keywords)


def contiguous(value):
    return value.contiguous() if isinstance(value, torch.Tensor) else value


def torch_compile(request, args, scratch, mode=None):
    if request.get("source"):
        # The module compiles itself.
        return triton_module(request, args, scratch)
    function, positional, keywords = bound_aten(request, args)

    def call(positional, keywords):
        return function(*positional, **keywords)

    # What is compiled is kept by code object: each handle has its own, so that none evicts another.
    code = call.__code__.replace(co_name=f"call_{time.monotonic_ns()}")
    own = types.FunctionType(code, globals(), closure=call.__closure__)
    compiled = torch.compile(own, fullgraph=True, dynamic=False, mode=mode)
    return lambda: compiled(positional, keywords)


def flag_gems(request, args, scratch):
    need(importlib.util.find_spec("flag_gems"), "flag_gems is not installed in this Python")
    call = aten(request, args, scratch)
    with gems():
        operators = dispatched(call)
        # The dispatcher says where each kernel was registered.
        theirs = any("flag_gems" in torch._C._dispatch_dump(name) for name in operators)
        need(theirs, f"flag_gems has no kernel for {', '.join(sorted(operators))}")
    return call


@contextlib.contextmanager
def gems():
    """Registers the kernels of flag_gems, for every operator they know, until the end of the block."""
    import flag_gems

    with flag_gems.use_gems():
        yield


def dispatched(call):
    """The operators that a call comes down to, such as `aten::_softmax` for `softmax.int`."""
    seen = set()

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, operator, _types, args=(), kwargs=None):
            seen.add(f"{operator._schema.name}.{operator._schema.overload_name}".rstrip("."))
            return operator(*args, **(kwargs or {}))

    with Watch():
        call()
    return seen


def triton_module(request, args, scratch):
    source, entry = request.get("source"), request.get("entry")
    if not source or not entry:
        raise bad("triton needs `source` and `entry`")
    # References of the same values come in two calls; a candidate starts anew each time.
    load = kept_module if request.get("keep") else load_module
    function = getattr(load(source, scratch), entry, None)
    if not callable(function):
        raise Refusal("raised", f"the module has no function {entry}")
    overload = overload_of(request["aten"]) if request.get("aten") else None
    positional, keywords = bind(overload, args)
    return lambda: function(*positional, **keywords)


def load_module(source, scratch):
    """Imports Python text from a file, which `triton.jit` reads again."""
    descriptor, path = tempfile.mkstemp(suffix=".py", prefix="kernel_", dir=scratch)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(source)
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@functools.lru_cache(maxsize=1)
def kept_module(source, scratch):
    return load_module(source, scratch)


IMPLEMENTATIONS = {
    "aten": aten,
    "torch_compile": torch_compile,
    "torch_compile_max_autotune": functools.partial(torch_compile, mode="max-autotune"),
    "flag_gems": flag_gems,
    "triton": triton_module,
    **dict.fromkeys(LIBRARIES, bound),
}
