# Appended to importer/constants.py, with PROBLEM in front of it: a PyTorch module as a function of kgen's tensors.
import functools
import sys
import types

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

# The unit roundoff of f32, and the runs that responses to roundings are taken over.
UNIT_ROUNDOFF = 2.0**-24
RUNS = 6
# Elements that are changed at once.
CHUNK = 1 << 26


@functools.cache
def parsed():
    return Source("<module>", PROBLEM["source"], PROBLEM["function"])


class Function(torch.nn.Module):
    """A function as a module without parameters."""

    def __init__(self, function):
        super().__init__()
        self.forward = function


def made(variant, device):
    """The module of a variant and its inputs, on a device."""
    # A module of its own, since torch.compile imports by name what it looks at.
    name = f"kgen_module_{len(sys.modules)}"
    sys.modules[name] = types.ModuleType(name)
    names = vars(sys.modules[name])
    with torch.device(device):
        exec(parsed().code(PROBLEM["variants"][variant]), names)
        made_by = names[PROBLEM["class"]]
        module = Function(made_by) if PROBLEM["function"] else made_by(*names["get_init_inputs"]())
        inputs = list(names["get_inputs"]())
    return module.train(PROBLEM["train"]), inputs


@functools.cache
def shapes(variant):
    """Extents of a variant's inputs, and of its parameters and buffers by their paths."""
    try:
        module, inputs = made(variant, "meta")
    except (RuntimeError, NotImplementedError):
        # Code that looks at values needs some.
        module, inputs = made(variant, "cpu")
    held = {path: list(value.shape) for path, value in module.state_dict(keep_vars=True).items()}
    return [list(leaf.shape) for leaf in tree_leaves(inputs) if isinstance(leaf, torch.Tensor)], held


def variant_of(tensors):
    """The variant with these tensors."""
    inputs = [list(value.shape) for (_, kind, _), value in zip(PROBLEM["tensors"], tensors) if kind == "input"]
    held = {path: list(value.shape) for (_, kind, path), value in zip(PROBLEM["tensors"], tensors) if kind == "path"}
    for variant in range(len(PROBLEM["variants"])):
        of_inputs, of_held = shapes(variant)
        if of_inputs == inputs and all(of_held.get(path, shape) == shape for path, shape in held.items()):
            return variant
    raise ValueError("no variant of the module has inputs of these extents")


@functools.cache
def built(variant, device, wide):
    torch.manual_seed(0)
    module, inputs = made(variant, device)
    return module.double() if wide else module, inputs


def result(tensors, in_f64=False):
    """What the module returns: its tensors, in order."""
    module, inputs = built(variant_of(tensors), str(tensors[0].device), in_f64)
    roles = list(zip(PROBLEM["tensors"], tensors))
    arguments = iter([value for (_, kind, _), value in roles if kind == "input"])
    held = {path: value for (_, kind, path), value in roles if kind == "path"}
    leaves, structure = tree_flatten(inputs)
    given = [next(arguments) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
    returned = torch.func.functional_call(module, held, tuple(tree_unflatten(given, structure)))
    return [leaf for leaf in tree_leaves(returned) if isinstance(leaf, torch.Tensor)]


def tensors_of(arguments):
    return [argument for argument in arguments if isinstance(argument, torch.Tensor)]


def forward(*arguments):
    return result(tensors_of(arguments))


@functools.cache
def compiler():
    return torch.compile(lambda tensors: result(tensors), dynamic=False)


def compiled(*arguments):
    tensors = tensors_of(arguments)
    # Built outside of what is compiled.
    built(variant_of(tensors), str(tensors[0].device), False)
    return compiler()(tensors)


class Roundings(TorchDispatchMode):
    """Changes every result by one rounding of f32, up or down by chance."""

    def __init__(self, generator):
        super().__init__()
        self.generator = generator

    def __torch_dispatch__(self, operator, _types, args=(), kwargs=None):
        returned = operator(*args, **(kwargs or {}))
        if operator.is_view:
            return returned
        for value in returned if isinstance(returned, (tuple, list)) else [returned]:
            if isinstance(value, torch.Tensor) and value.dtype == torch.float64:
                self.change(value)
        return returned

    def change(self, value):
        dense = value.is_contiguous()
        for piece in value.view(-1).split(CHUNK) if dense else [value]:
            sign = torch.randint(0, 2, piece.shape, dtype=torch.int8, device=piece.device, generator=self.generator)
            piece.mul_(sign.double().mul_(2).sub_(1).mul_(UNIT_ROUNDOFF).add_(1))


def wide(tensors):
    return [value.double() if value.is_floating_point() else value for value in tensors]


def moved(tensors, generator):
    """Tensors in f64 that are off by a rounding or two."""
    values = wide(tensors)
    for value, of in zip(values, tensors):
        if not of.is_floating_point():
            continue
        # Piece by piece: memory is short where cases are large.
        for piece in value.view(-1).split(CHUNK):
            change = torch.rand(piece.shape, dtype=piece.dtype, device=piece.device, generator=generator)
            piece.mul_(change.mul_(4).sub_(2).mul_(UNIT_ROUNDOFF).add_(1))
    return values


def response(exact, run):
    """The root mean square of the changes of each result over some runs."""
    squares = [torch.zeros_like(value, dtype=torch.float64) for value in exact]
    for number in range(RUNS):
        generator = torch.Generator(exact[0].device).manual_seed(number)
        values = run(generator)
        while values:
            value = values.pop().double()
            square, of = squares[len(values)], exact[len(values)]
            square.add_(value.sub_(of).nan_to_num_(0.0, 0.0, 0.0).square_())
            del value
    return [square.div_(RUNS).sqrt_() for square in squares]


def reference(*arguments):
    """Of each result: as kgen's dtype, in f64, its response to roundings of the inputs, and to those of all results."""
    tensors = [value.contiguous() for value in tensors_of(arguments)]
    exact = result(wide(tensors), in_f64=True)

    def rounded(generator):
        with Roundings(generator):
            return result(wide(tensors), in_f64=True)

    spread = [value.float() for value in response(exact, lambda g: result(moved(tensors, g), in_f64=True))]
    magnitude = [value.div_(UNIT_ROUNDOFF).float() for value in response(exact, rounded)]
    parts = zip(exact, spread, magnitude)
    return [part for value, s, m in parts for part in (value.float(), value.double(), s, m)]
