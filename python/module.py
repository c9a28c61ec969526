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
# Most bytes of responses that are kept for a second call, which asks for the elements that differ.
KEPT_BYTES = 4 << 30
KEPT = {}


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


# Stands for a tensor among the arguments of a module.
GIVEN = object()


@functools.cache
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


def result(tensors, in_f64=False):
    """The tensors that the module returns, in order."""
    module, leaves, structure = built(variant_of(tensors), str(tensors[0].device), in_f64)
    roles = list(zip(PROBLEM["tensors"], tensors))
    arguments = iter([value for (_, kind, _), value in roles if kind == "input"])
    # Recurrent layers have their weights point to a copy: theirs are other objects than kgen's.
    held = {path: value.detach() for (_, kind, path), value in roles if kind == "path"}
    given = [next(arguments) if leaf is GIVEN else leaf for leaf in leaves]
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
    # Built outside of the compiled function.
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


def reference(*arguments):
    """The module's results in f64, rounded to their types in kgen."""
    KEPT.clear()
    values = result(wide(tensors_of(arguments)), in_f64=True)
    # One after the other: memory is short where cases are large.
    return [values.pop(0).float() for _ in range(len(values))]


def responses(tensors, exact, taken):
    """
    Of each result: the values in f64, their response to roundings of the inputs, and that to roundings of
    all results over the unit roundoff. `taken` picks elements of a result by its number.
    """
    exact = [taken(at, value) for at, value in enumerate(exact)]

    def rounded(generator):
        with Roundings(generator):
            return result(wide(tensors), in_f64=True)

    def response(run):
        squares = [torch.zeros_like(value) for value in exact]
        for number in range(RUNS):
            values = run(torch.Generator(tensors[0].device).manual_seed(number))
            while values:
                value = values.pop()
                at = len(values)
                squares[at].add_((taken(at, value) - exact[at]).nan_to_num_(0.0, 0.0, 0.0).square_())
                del value
        return [square.div_(RUNS).sqrt_() for square in squares]

    spread = response(lambda generator: result(moved(tensors, generator), in_f64=True))
    magnitude = [value.div_(UNIT_ROUNDOFF) for value in response(rounded)]
    return list(zip(exact, spread, magnitude))


def elements(*arguments):
    """
    `responses` of some elements of each result. Behind the tensors come, in lists, a number that names their
    values and row-major places per result.
    """
    [number], *places = [a for a in arguments if isinstance(a, (list, tuple))]
    tensors = tensors_of(arguments)
    places = [torch.tensor(place, device=tensors[0].device) for place in places]

    def gathered(at, value):
        return value.reshape(-1)[places[at]].double()

    parts = KEPT.pop(number, None)
    KEPT.clear()
    if parts is None:
        exact = result(wide(tensors), in_f64=True)
        if 3 * sum(8 * value.numel() for value in exact) > KEPT_BYTES:
            return [part for parts in responses(tensors, exact, gathered) for part in parts]
        parts = KEPT[number] = responses(tensors, exact, lambda _, value: value.double())
    return [gathered(at, part) for at, of in enumerate(parts) for part in of]
