# --------------------------------------------------------------------------------------------------
# Checking the module against the original.

import copy

# Draws of the inputs that check() tries.
_TRIALS = 3


def check(model, device="cuda", verbose=True):
    """Compares `model` with the original, made with the same random numbers, on inputs of the file.

    An output is right where its distance from the original's in f64 is at most four times the largest of the
    original's own, plus a rounding. Returns whether all are right, and something was compared.
    """
    made_with = list(original.get_init_inputs())
    modules = []
    for one in (Original, model):
        torch.manual_seed(0)
        modules.append(one(*made_with).train(TRAIN).to(device))
    ours_by_name = modules[1].state_dict()
    if any(not torch.equal(value, ours_by_name[name]) for name, value in modules[0].state_dict().items()):
        print(f"{NAME}: parameters differ")
        return False
    outcomes = []
    for trial in range(_TRIALS):
        torch.manual_seed(trial)
        move = lambda value: value.to(device) if isinstance(value, torch.Tensor) else value
        outcome, said = _check_inputs(*modules, [move(value) for value in original.get_inputs()])
        outcomes.append(outcome)
        if verbose or outcome == "WRONG":
            print(f"{outcome:<8} trial {trial}: {said}")
    n_right, n_wrong = outcomes.count("ok"), outcomes.count("WRONG")
    print(f"{NAME}: {n_right} of {n_right + n_wrong} trials are as right as {CLASS}, "
          f"{_TRIALS - n_right - n_wrong} left out")
    return n_wrong == 0 and n_right > 0


def _outputs(module, inputs):
    with torch.no_grad():
        returned = tree_flatten(module(*inputs))[0]
    return [leaf for leaf in returned if isinstance(leaf, torch.Tensor)]


def _exact(module, inputs):
    """Returns the original's outputs in f64. On a copy: a batch norm changes its buffers."""
    widen = lambda value: value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
    default = torch.get_default_dtype()
    # Of the tensors that its code makes.
    torch.set_default_dtype(torch.float64)
    try:
        return _outputs(copy.deepcopy(module).double(), list(map(widen, inputs)))
    finally:
        torch.set_default_dtype(default)


def _check_inputs(module, model, inputs):
    try:
        exact = _exact(module, inputs)
        eager = _outputs(module, inputs)
    except torch.cuda.OutOfMemoryError:
        return "left out", "not enough memory for the original in f64"
    except RuntimeError as error:
        return "left out", f"the original does not run in f64: {str(error).splitlines()[0]}"
    got = _outputs(model, inputs)
    if len(got) != len(eager):
        return "WRONG", f"{len(got)} outputs, not {len(eager)}"
    results = [_compare(*outputs) for outputs in zip(got, eager, exact)]
    errors = ", ".join(f"{error:.2e}" for error, _ in results)
    return "ok" if all(right for _, right in results) else "WRONG", f"largest error {errors}"


def main(model):
    if not torch.cuda.is_available():
        raise SystemExit(f"{NAME}: the check needs a CUDA GPU, and PyTorch finds none here")
    raise SystemExit(0 if check(model) else 1)
