# --------------------------------------------------------------------------------------------------
# The module in PyTorch.

import functools
import inspect
import sys
import types

from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten


def _load_original():
    """Returns the module that the original file is."""
    # Registered, since dataclasses and torch.compile look for the module of what they are given.
    module = sys.modules[f"{NAME}_original"] = types.ModuleType(f"{NAME}_original")
    names = vars(module)
    exec(compile(ORIGINAL, FILE, "exec"), names)
    if INPUTS is not None:
        names["get_inputs"] = lambda: list(eval(f"({INPUTS},)", names))
        names["get_init_inputs"] = list
    return module


original = _load_original()


class _Function(torch.nn.Module):
    """A function as a module without parameters."""

    def forward(self, *inputs):
        return getattr(original, CLASS)(*inputs)


Original = getattr(original, CLASS) if INPUTS is None else _Function
_FORWARD = inspect.signature(Original.forward)
_INPUT_DTYPES = [_TORCH[dtype] for _, kind, _, dtype, _ in MODULE if kind == "input"]
_DEVICE = "cuda"
# Tensors that the original's code makes, by device and shapes.
_made = {}


class _Forward(torch.nn.Module):
    """The original's forward on a module that has another."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, *inputs):
        return Original.forward(self.module, *inputs)


def _drawn_apart(function):
    """Calls a function of the original file without using up random numbers of anybody's."""
    try:
        # Without memory: inputs may be large.
        with torch.random.fork_rng(devices=[]), FakeTensorMode(allow_non_fake_inputs=True):
            return function()
    except Exception:  # It looks at values.
        with torch.random.fork_rng(devices=[]):
            return function()


def _plain(values):
    """Returns nested values with the shape of each tensor in its place."""
    return tree_map(lambda leaf: tuple(leaf.shape) if isinstance(leaf, torch.Tensor) else leaf, values)


def _arguments(args, kwargs):
    """Returns all arguments of the original's constructor, defaults included."""
    bound = inspect.signature(Original).bind(*args, **kwargs)
    bound.apply_defaults()
    return _plain(list(bound.arguments.values()))


@functools.cache
def _made_with():
    """Returns the arguments of the constructor that the kernel was made for."""
    return _drawn_apart(lambda: _arguments(original.get_init_inputs(), {}))


@functools.cache
def _numbers():
    """Returns the arguments of `forward` that are no tensors, which the kernel does not see."""
    return _drawn_apart(lambda: [value for value in original.get_inputs() if not isinstance(value, torch.Tensor)])


def check_arguments(args, kwargs):
    """Raises where a module is made with other arguments than those that its kernel was made for."""
    given = _arguments(args, kwargs)
    if given != _made_with():
        raise ValueError(f"the kernel is of {CLASS}(*get_init_inputs()) = {CLASS}{tuple(_made_with())}, not of {tuple(given)}")


def _inputs(args, kwargs):
    """Returns the arguments of `forward`, and the tensors among them in the types of the kernel."""
    inputs = args
    if kwargs:
        bound = _FORWARD.bind(None, *args, **kwargs)
        bound.apply_defaults()
        inputs = bound.args[1:]
    given = [value for value in inputs if isinstance(value, torch.Tensor)]
    if len(given) != len(_INPUT_DTYPES):
        raise TypeError(f"{CLASS} takes {len(_INPUT_DTYPES)} tensors, not {len(given)}")
    numbers = [value for value in inputs if not isinstance(value, torch.Tensor)]
    if numbers and numbers != _numbers()[:len(numbers)]:
        raise ValueError(f"the kernel is for {_numbers()} as the arguments that are no tensors, not {numbers}")
    # Integers and truth values may come as numbers of another type.
    given = [value if value.dtype == dtype or dtype.is_floating_point else value.to(dtype)
             for value, dtype in zip(given, _INPUT_DTYPES)]
    return inputs, given


def _held(module):
    """Returns the parameters and buffers that the kernel takes. Where they are is found once."""
    places = module.__dict__.get("_kgen_places")
    if places is None:
        paths = [part.rpartition(".") for _, kind, part, _, _ in MODULE if kind == "path"]
        places = [(module.get_submodule(owner), name) for owner, _, name in paths]
        # Not by setattr, which would make submodules of them.
        module.__dict__["_kgen_places"] = places
    return [getattr(owner, name) for owner, name in places]


def _shape(dims, symbols):
    return tuple(eval(dim, {"__builtins__": {}}, symbols) for dim in dims)


def _symbols(tensors):
    """Returns the extents by their names, and checks that the shapes are those that the kernel is for."""
    symbols = {name: value for name, value in SCALARS.items() if isinstance(value, int)}
    known = [(name, dims, tuple(tensors[name].shape)) for name, _, _, _, dims in MODULE if name in tensors]
    for name, dims, shape in known:
        if len(dims) != len(shape):
            raise ValueError(f"{name} has {len(shape)} dimensions, not {len(dims)}")
        for dim, extent in zip(dims, shape):
            factor, _, symbol = dim.rpartition("*")
            if symbol.isidentifier() and symbol not in symbols and (factor or "1").isdigit():
                symbols[symbol] = extent // int(factor or 1)
    for name, dims, shape in known:
        if shape != _shape(dims, symbols):
            raise ValueError(f"{name} has the shape {shape}; the kernel is for [{', '.join(dims)}] with {symbols}")
    return symbols


def _constant(kind, shape, dtype, device):
    """Makes a tensor that the original's code makes."""
    name, *rest = kind
    if name == "constant":
        return torch.full(shape, rest[0], dtype=dtype, device=device)
    if name == "arange":
        return (rest[0] + rest[1] * torch.arange(_product(shape), device=device)).reshape(shape).to(dtype)
    diagonal, inside, outside, lower = rest
    offset = torch.arange(shape[-1], device=device) - torch.arange(shape[-2], device=device)[:, None]
    is_inside = offset <= diagonal if lower else offset >= diagonal
    return torch.where(is_inside, inside, outside).to(dtype).expand(shape).contiguous()


def _constants(tensors, device):
    """Returns the tensors that the original's code makes, by name; made once for inputs of the same shapes."""
    key = (device, *[tensor.shape for tensor in tensors.values()])
    if key not in _made:
        symbols = _symbols(tensors)
        _made[key] = {
            name: _constant(part, _shape(dims, symbols), _TORCH[dtype], device)
            for name, kind, part, dtype, dims in MODULE if kind == "constant"}
    return _made[key]


def _infer(module, inputs, tensors):
    """Returns the outputs' layouts as the original has them, and what makes the result of them.

    Nothing is computed: the original runs on tensors without data. The kernel was proven for no other types
    and extents than those that are checked here.
    """
    for name, _, _, dtype, _ in MODULE:
        if tensors[name].dtype != _TORCH[dtype]:
            raise TypeError(f"{name} is of {tensors[name].dtype}; the kernel is for {_TORCH[dtype]}")
    _symbols(tensors)
    with FakeTensorMode(allow_non_fake_inputs=True) as mode, torch.no_grad():
        fake = lambda value: mode.from_tensor(value.detach()) if isinstance(value, torch.Tensor) else value
        held = {**dict(module.named_parameters()), **dict(module.named_buffers())}
        held = {f"module.{path}": fake(value) for path, value in held.items()}
        returned = torch.func.functional_call(_Forward(module), held, tuple(map(fake, inputs)))
    leaves, structure = tree_flatten(returned)
    layouts = [(tuple(leaf.shape), leaf.dtype) for leaf in leaves if isinstance(leaf, torch.Tensor)]
    leaves = [None if isinstance(leaf, torch.Tensor) else (leaf,) for leaf in leaves]

    def result(outputs):
        outputs = iter(outputs)
        return tree_unflatten([next(outputs) if leaf is None else leaf[0] for leaf in leaves], structure)

    return layouts, result


class _WithoutBackward(torch.autograd.Function):
    """Raises where a gradient is asked for; results would else be constants to PyTorch."""

    @staticmethod
    def forward(_context, run, *_tensors):
        return tuple(run())

    @staticmethod
    def backward(_context, *_gradients):
        raise NotImplementedError(f"the kernel of {NAME} has no backward pass")


def forward(module, args, kwargs):
    """Calls the kernel on inputs, parameters and buffers; returns them as the original returns its results."""
    if module.training != TRAIN:
        mode = "train" if TRAIN else "eval"
        raise ValueError(f"the kernel is of {CLASS} as .{mode}() leaves it")
    inputs, given = _inputs(args, kwargs)
    sources = {"input": iter(given), "path": iter(_held(module))}
    tensors = {name: next(sources[kind]) for name, kind, _, _, _ in MODULE if kind in sources}
    device = next(iter(tensors.values())).device
    if device.type != _DEVICE:
        raise ValueError(f"{CLASS} runs on CUDA tensors, and these are on {device}")
    if len(tensors) < len(MODULE):
        tensors.update(_constants(tensors, device))
    arguments = {**tensors, **SCALARS}
    ordered = [arguments[name] for name in TENSORS]
    call = _call_of(arguments, ordered, lambda: _infer(module, inputs, tensors))
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in ordered):
        return call.result(_WithoutBackward.apply(lambda: call.run(ordered, device), *ordered))
    return call.result(call.run(ordered, device))
