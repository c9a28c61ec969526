"""Ops of libraries other than PyTorch, on torch's tensors: each library has a module here, imported when it is asked for."""

import importlib
import importlib.util

from ..refusal import bad, need
from .call import Call, offered

# Modules of this folder, and the packages that each needs.
LIBRARIES = {
    "jax": ("jax_call", ("jax",)),
    "cupy": ("cupy_call", ("cupy",)),
    "onnxruntime": ("onnxruntime_call", ("onnxruntime", "onnx")),
}


def library(name):
    """The module of a library: its table `OPS`, the element types `DTYPES` and `bind`."""
    if name not in LIBRARIES:
        raise bad(f"there is no library {name!r}")
    module, packages = LIBRARIES[name]
    for package in packages:
        need(importlib.util.find_spec(package), f"{package} is not installed in this Python")
    return importlib.import_module(f".{module}", __name__)


def offers(name):
    """The overloads that a library has an op for, and its version."""
    ops = sorted(library(name).OPS)
    return {"ops": ops, "version": importlib.import_module(name).__version__}


def bound(request, args, _scratch):
    """The call of a library for `prepare`."""
    theirs = library(request["impl"])
    return theirs.bind(offered(theirs, request, args))


__all__ = ["LIBRARIES", "Call", "bound", "offers"]
