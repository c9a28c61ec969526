"""The module for real, on the CPU in f64: what the graph of a small variant must give."""

import base64

import torch
from torch.utils._pytree import tree_leaves, tree_map

from problem import Made
from values import Ref, Refused

TOLERANCE = 1e-5


def real(source, request, values):
    """The module and its inputs with real values, always the same ones."""
    torch.manual_seed(0)
    return Made(source, request, values)


def attribute(module, path):
    for part in path.split("."):
        module = module[int(part)] if part.isdigit() and isinstance(module, (list, tuple)) else getattr(module, part)
    return module


def samples(problem, made):
    """The real tensors behind the leaves of a graph, by name; constants that the graph holds are taken from there."""
    inputs = dict(zip(made.names, made.inputs))
    by_leaf = dict(zip(problem.made.names, problem.made.inputs))
    found = {}
    for leaf in problem.leaves:
        if leaf.kind == "input":
            name = next(n for n, v in by_leaf.items() if v is leaf.tensor)
            found[leaf.name] = inputs[name]
        elif leaf.path:
            found[leaf.name] = attribute(made.module, leaf.path).detach()
        else:
            found[leaf.name] = leaf.tensor
    return {name: value.detach().clone() for name, value in found.items()}


def doubled(value):
    return value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def computed(problem, source, request):
    """A check: every tensor of the variant and every output of the module in f64."""
    try:
        return computed_once(problem, real(source, request, problem.values))
    except RuntimeError:
        # Tensors that forward makes are f32, which some ops do not take beside f64.
        made = real(source, request, problem.values)
        torch.set_default_dtype(torch.float64)
        try:
            return computed_once(problem, made)
        finally:
            torch.set_default_dtype(torch.float32)


def computed_once(problem, made):
    made.inputs = [doubled(v) for v in made.inputs]
    made.module.double()
    for module in made.module.modules():
        for name, value in list(vars(module).items()):
            if isinstance(value, torch.Tensor):
                vars(module)[name] = doubled(value)
    tensors = {name: wide(value) for name, value in samples(problem, made).items()}
    out = [v.detach() for v in tree_leaves(made.module(*made.inputs)) if isinstance(v, torch.Tensor)]
    ours = replayed(problem, tensors)
    for i, (theirs, mine) in enumerate(zip(out, ours, strict=True)):
        if theirs.shape != mine.shape or not torch.allclose(
            wide(theirs).double(), wide(mine).double(), rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True
        ):
            raise Refused(f"the graph's output {i} is not what the module gives")
    return {"tensors": {name: encoded(v) for name, v in tensors.items()}, "outputs": [encoded(v) for v in out]}


def encoded(value):
    """A tensor as f64, little endian, in base 64."""
    data = value.detach().double().contiguous().numpy().astype("<f8").tobytes()
    return {"shape": list(value.shape), "data": base64.b64encode(data).decode()}


def wide(value):
    return value.detach().to(torch.float64 if value.is_floating_point() else torch.int64)


def replayed(problem, tensors):
    """The graph's outputs, by torch's own ops."""
    done = {}
    for leaf in problem.leaves:
        value = tensors[leaf.name]
        done[id(leaf)] = [value if leaf.tensor.is_floating_point() else value.to(leaf.tensor.dtype)]

    def put(value):
        return done[id(value.source)][value.index] if isinstance(value, Ref) else value

    def evaluate(node):
        args, kwargs = tree_map(put, (node.args, node.kwargs), is_leaf=lambda v: isinstance(v, Ref))
        # Copies that only change the layout are gone, so a view may need one.
        func = torch.ops.aten.reshape.default if node.func is torch.ops.aten.view.default else node.func
        out = func(*args, **kwargs)
        return [v for v in (out if isinstance(out, (tuple, list)) else [out]) if isinstance(v, torch.Tensor)]

    with torch.no_grad():
        for node in problem.nodes:
            done[id(node)] = evaluate(node)
    return [put(ref) for ref in problem.outputs]
