# --------------------------------------------------------------------------------------------------
# The op in PyTorch.

import operator

_eager = operator.attrgetter(ATEN)(torch.ops.aten)
_ARGUMENTS = [(argument.name, argument.default_value) for argument in _eager._schema.arguments]
# Eager's signature, without what it says about aliases: outputs are always fresh.
SCHEMA = re.sub(r"\([a-z]!?( -> \*)?\)", "", "(" + str(_eager._schema).partition("(")[2])


def _bound(args, kwargs):
    """Returns all arguments of a call by their names, defaults included."""
    given = {**dict(zip((name for name, _ in _ARGUMENTS), args)), **kwargs}
    return {name: given.get(name, default) for name, default in _ARGUMENTS}


def _call_eager(arguments):
    """Calls the eager op; returns its outputs as a list."""
    outputs = _eager(**arguments)
    return list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]


def _layouts(outputs):
    """Returns shape and type of each output. One that a mask leaves out has no elements."""
    some = next(out for out in outputs if out is not None)
    return [((0,), some.dtype) if out is None else (out.shape, out.dtype) for out in outputs]


def _result(outputs):
    return outputs if RETURNS_LIST else outputs[0] if len(outputs) == 1 else tuple(outputs)


def _infer(arguments):
    """Returns the outputs' layouts as eager PyTorch has them, and what makes the result of them."""
    meta = {name: _map_tensors(value, lambda t: torch.empty_strided(
        t.shape, t.stride(), dtype=t.dtype, device="meta"))
        for name, value in arguments.items()}
    if "device" in meta:
        meta["device"] = torch.device("meta")
    return _layouts(_call_eager(meta)), _result


def _implementation(*args, **kwargs):
    arguments = _bound(args, kwargs)
    inputs = _tensors(arguments)
    call = _call_of(arguments, inputs, lambda: _infer(arguments))
    return call.result(call.run(inputs, inputs[0].device))


def _fake(*args, **kwargs):
    arguments = _bound(args, kwargs)
    device = _tensors(arguments)[0].device
    return _result([torch.empty(shape, dtype=dtype, device=device)
                    for shape, dtype in _layouts(_call_eager(arguments))])


_op = torch.library.custom_op(
    f"{NAMESPACE}::{NAME}", _implementation, mutates_args=(), device_types="cuda", schema=SCHEMA)
_op.register_fake(_fake)


@_op.register_kernel("cpu")
def _on_cpu(*args, **kwargs):
    raise ValueError(f"{NAME} takes CUDA tensors, and these are on the CPU")


_registered = getattr(getattr(torch.ops, NAMESPACE), NAME)


def call(*args, **kwargs):
    """Calls the kernel with the arguments of the eager op; see SCHEMA."""
    return _registered(*args, **kwargs)
