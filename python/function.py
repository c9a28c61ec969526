# Appended to wide.py, with TEXT in front of it: Python code that defines `reference`, as a function of kgen's tensors.
# Behind it comes reference.py.
import contextlib
import functools
import linecache
import sys
import types

import torch
from torch.utils._pytree import tree_leaves

# The name that its lines have in tracebacks.
FILE = "<reference>"
linecache.cache[FILE] = (len(TEXT), None, TEXT.splitlines(keepends=True), FILE)


# Responses are weighed by the lengths of sums.
WEIGHED = True


def kept(in_f64):
    return Wide() if in_f64 else contextlib.nullcontext()


@functools.cache
def loaded(in_f64):
    """The function; its module's own tensors have the type that it computes in."""
    name = f"kgen_reference_{len(sys.modules)}"
    module = sys.modules[name] = types.ModuleType(name)
    with kept(in_f64):
        exec(compile(TEXT, FILE, "exec"), vars(module))
    function = getattr(module, "reference", None)
    if not callable(function):
        raise NameError("the text defines no function `reference`")
    return function


def result(tensors, in_f64=False, **scalars):
    """The tensors that the function returns, in order."""
    function = loaded(in_f64)
    with kept(in_f64):
        returned = function(*tensors, **scalars)
    leaves = tree_leaves(returned)
    odd = next((leaf for leaf in leaves if not isinstance(leaf, torch.Tensor)), None)
    if odd is not None:
        raise TypeError(f"`reference` returns a {type(odd).__name__} where a tensor is expected")
    return leaves


def forward(*tensors, **scalars):
    versions = [tensor._version for tensor in tensors]
    returned = result(tensors, **scalars)
    if versions != [tensor._version for tensor in tensors]:
        raise RuntimeError("`reference` writes into its arguments, so that it cannot be timed again and again")
    return returned


@functools.cache
def compiler(mode=None):
    return torch.compile(loaded(False), dynamic=False, mode=mode)


def compiled(*tensors, **scalars):
    return tree_leaves(compiler()(*tensors, **scalars))


def autotuned(*tensors, **scalars):
    return tree_leaves(compiler("max-autotune")(*tensors, **scalars))
