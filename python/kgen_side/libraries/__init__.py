"""Ops of libraries other than PyTorch, on torch's tensors: a module for each, imported when it is asked for."""

import functools
import importlib
import importlib.util

from ..refusal import bad, need, torch
from .call import Call, Problem, offered

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
    problem = offered(theirs, request, args)
    call = theirs.bind(problem)
    call.blocking = problem.device.type == "cuda" and not is_ordered(request["impl"], problem.device)
    return call


@functools.cache
def is_ordered(name, device):
    """Whether a library waits for torch's stream, and torch's stream for the library."""
    theirs, x = library(name), torch.ones(1, device=device)
    call = theirs.bind(Problem(theirs.OPS["relu.default"], {"self": x}, {}, [x.dtype], [[1]], x.dtype, False, device))
    call()
    torch.cuda.synchronize()
    # Tens of milliseconds in which the library would read the old value, and torch a result that is not there yet.
    torch.cuda._sleep(50_000_000)
    x.fill_(3.0)
    [result] = call()
    return result.clone().item() == 3.0


__all__ = ["LIBRARIES", "Call", "bound", "offers"]
