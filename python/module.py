# Appended to wide.py and importer/constants.py, with PROBLEM in front of it: a PyTorch module as a function of kgen's
# tensors. Behind it comes reference.py.
import contextlib
import functools
import sys
import types

import torch
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten


# Whether responses are weighed by the lengths of sums.
WEIGHED = PROBLEM["is_reference"]


@functools.cache
def parsed():
    return Source("<module>", PROBLEM["source"], PROBLEM["function"])


class Function(torch.nn.Module):
    """A function as a module without parameters."""

    def __init__(self, function):
        super().__init__()
        self.forward = function


def made(constants, device):
    """The module with constants, as pairs, and its inputs, on a device."""
    # A module of its own, since torch.compile imports by name what it looks at.
    name = f"kgen_module_{len(sys.modules)}"
    sys.modules[name] = types.ModuleType(name)
    names = vars(sys.modules[name])
    with torch.device(device):
        exec(parsed().code(dict(constants)), names)
        made_by = names[PROBLEM["class"]]
        module = Function(made_by) if PROBLEM["function"] else made_by(*names["get_init_inputs"]())
        inputs = list(names["get_inputs"]())
    return module.train(PROBLEM["train"]), inputs


# Sizes that are drawn are others for every evaluation.
@functools.lru_cache(64)
def shapes(constants):
    """Extents of the inputs, and of the parameters and buffers by their paths."""
    try:
        module, inputs = made(constants, "meta")
    except (RuntimeError, NotImplementedError):
        # Code that looks at values needs some.
        module, inputs = made(constants, "cpu")
    held = {path: list(value.shape) for path, value in module.state_dict(keep_vars=True).items()}
    return [list(leaf.shape) for leaf in tree_leaves(inputs) if isinstance(leaf, torch.Tensor)], held


def drawn(tensors):
    """The constants of a case with drawn sizes, by the extents of its tensors."""
    sizes = {}
    for dims, value in zip(PROBLEM["extents"], tensors):
        sizes |= {dim: extent for dim, extent in zip(dims, value.shape) if dim.isidentifier()}
    return {name: eval(text, {"__builtins__": {}}, sizes) for name, text in PROBLEM["drawn"].items()}


def variant_of(tensors):
    """The constants of the variant with these tensors, as pairs."""
    inputs = [list(value.shape) for (_, kind, _), value in zip(PROBLEM["tensors"], tensors) if kind == "input"]
    held = {path: list(value.shape) for (_, kind, path), value in zip(PROBLEM["tensors"], tensors) if kind == "path"}
    for constants in [*PROBLEM["variants"], *([drawn(tensors)] if PROBLEM["drawn"] else [])]:
        variant = tuple(constants.items())
        of_inputs, of_held = shapes(variant)
        if of_inputs == inputs and all(of_held.get(path, shape) == shape for path, shape in held.items()):
            return variant
    raise ValueError("no variant of the module has inputs of these extents")


# Stands for a tensor among the arguments of a module.
GIVEN = object()


@functools.lru_cache(16)
def built(variant, device, wide):
    """
    The module of a variant, and its arguments as a list and a structure. Tensors that kgen gives are not
    held: they can be as large as the GPU.
    """
    torch.manual_seed(0)
    module, inputs = made(variant, device)
    leaves, structure = tree_flatten(inputs)
    leaves = [GIVEN if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
    del inputs
    module = module.double() if wide else module
    for path in [path for _, kind, path in PROBLEM["tensors"] if kind == "path"]:
        owner, _, name = path.rpartition(".")
        value = getattr(module.get_submodule(owner), name)
        value.data = value.data.new_empty(0)
    return module, leaves, structure


def result(tensors, in_f64=False, **_scalars):
    """The tensors that the module returns, in order."""
    module, leaves, structure = built(variant_of(tensors), str(tensors[0].device), in_f64)
    roles = list(zip(PROBLEM["tensors"], tensors))
    arguments = iter([value for (_, kind, _), value in roles if kind == "input"])
    # Recurrent layers have their weights point to a copy: theirs are other objects than kgen's.
    held = {path: value.detach() for (_, kind, path), value in roles if kind == "path"}
    given = [next(arguments) if leaf is GIVEN else leaf for leaf in leaves]
    # A graph rounds where the module converts.
    kept = Wide() if in_f64 and PROBLEM["is_reference"] else contextlib.nullcontext()
    with kept:
        returned = torch.func.functional_call(module, held, tuple(tree_unflatten(given, structure)))
    return [leaf for leaf in tree_leaves(returned) if isinstance(leaf, torch.Tensor)]


def forward(*tensors, **_scalars):
    return result(tensors)


@functools.cache
def compiler(mode):
    return torch.compile(lambda tensors: result(tensors), dynamic=False, mode=mode)


def compiled(*tensors, mode=None, **_scalars):
    # Built outside of the compiled function.
    built(variant_of(tensors), str(tensors[0].device), False)
    return compiler(mode)(tensors)


def autotuned(*tensors, **scalars):
    return compiled(*tensors, mode="max-autotune", **scalars)
