# --------------------------------------------------------------------------------------------------
# The backward pass: calls of the kernel that is exported beside this one.

import importlib

_backward = importlib.import_module(BACKWARD)


class _Saved:
    """The place of a tensor among those that a forward call saves."""

    def __init__(self, index):
        self.index = index


def _setup_context(ctx, inputs, output, keyword_only_inputs=None):
    given = _bound(inputs, keyword_only_inputs or {})
    outs = list(output) if isinstance(output, (tuple, list)) else [output]
    needed = dict(zip((name for name, _ in _ARGUMENTS), ctx.needs_input_grad))
    saved = []

    def save(value):
        if isinstance(value, torch.Tensor):
            saved.append(value)
            return _Saved(len(saved) - 1)
        return value

    ctx.calls = [
        (names, {name: save(value) for name, value in arguments(given, outs, needed).items()})
        for names, arguments in GRADIENTS if any(needed[name] for name in names)]
    ctx.n_inputs = len(inputs)
    ctx.save_for_backward(*saved)
    ctx.mark_non_differentiable(*outs[1:])


def _call_backward(arguments):
    """Calls the gradient; a convolution of one sample gets the batch dimension that its gradient's op asks for."""
    x, weight = arguments.get("input"), arguments.get("weight")
    if "output_padding" not in arguments or x.dim() == weight.dim():
        return _backward.call(**arguments)
    batch = {name: arguments[name].unsqueeze(0) for name in ("grad_output", "input")}
    of_input, *rest = _backward.call(**{**arguments, **batch})
    return [of_input.squeeze(0) if arguments["output_mask"][0] else of_input, *rest]


def _gradients(ctx, grad, *_):
    saved, found = ctx.saved_tensors, {}
    for names, arguments in ctx.calls:
        arguments = {name: saved[value.index] if isinstance(value, _Saved)
                     else grad if value is GRAD else value for name, value in arguments.items()}
        got = _call_backward(arguments)
        found.update(zip(names, got if isinstance(got, (tuple, list)) else [got]))
    names = [name for name, _ in _ARGUMENTS][:ctx.n_inputs]
    return tuple(found.get(name) if needs else None
                 for name, needs in zip(names, ctx.needs_input_grad))


_op.register_autograd(_gradients, setup_context=_setup_context)


def _differentiable(arguments):
    return [name for name in dict.fromkeys(name for names, _ in GRADIENTS for name in names)
            if isinstance(arguments[name], torch.Tensor) and arguments[name].is_floating_point()]


def _gradients_of(run, arguments, names, grad, dtype=None):
    """Returns the gradients of the op's first output with respect to the named inputs."""
    leaf = lambda t: t.detach().to(dtype if dtype and t.is_floating_point() else t.dtype)
    given = {name: _map_tensors(value, leaf) for name, value in arguments.items()}
    for name in names:
        given[name].requires_grad_()
    out = run(given)
    return torch.autograd.grad(out, [given[name] for name in names], grad.to(out.dtype))


def _check_gradients(described, generator, device):
    arguments = {key: _make(value, generator, device) for key, value in described.items()}
    names = _differentiable(arguments)
    if any(arguments[name].numel() == 0 for name in names):
        return "left out", "there is no gradient without elements"
    eager = lambda given: _call_eager(given)[0]

    def mine(given):
        got = call(**given)
        return got[0] if isinstance(got, (tuple, list)) else got

    try:
        grad = torch.randn_like(eager(arguments))
        exact = _gradients_of(eager, arguments, names, grad, torch.float64)
        theirs = _gradients_of(eager, arguments, names, grad)
    except (RuntimeError, TypeError, ValueError) as error:
        return "left out", f"eager PyTorch refuses it: {str(error).splitlines()[0]}"
    try:
        ours = _gradients_of(mine, arguments, names, grad)
    except (ValueError, ZeroDivisionError) as error:
        return "left out", f"PyTorch's shape function refuses it: {error}"
    results = [_compare(*gradients) for gradients in zip(ours, theirs, exact)]
    errors = ", ".join(f"{name} {error:.2e}" for name, (error, _) in zip(names, results))
    return "ok" if all(right for _, right in results) else "WRONG", f"largest error {errors}"
