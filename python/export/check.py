# --------------------------------------------------------------------------------------------------
# Checking the kernel against eager PyTorch.

# Elements of a case beyond which check() leaves it out.
_MOST_ELEMENTS = 1 << 28


def _in_window(window, axis, drawn):
    """Returns a place inside each of some windows along a dimension; drawn: numbers in [0, 1)."""
    extent, _, kernel, stride, padding, dilation = axis
    start = window * stride
    skipped = ((padding - start).clamp(min=0) + dilation - 1) // dilation
    first = start + skipped * dilation - padding
    fit = ((extent - first).clamp(min=0) + dilation - 1) // dilation
    inside = torch.minimum(fit, kernel - skipped).clamp(min=1)
    return (first + (drawn * inside).long() * dilation).clamp(max=extent - 1)


def _values(kind, shape, generator, device):
    """Returns random values of a kind of the suite, as f32 or i64."""
    name, *rest = kind
    uniform = lambda: torch.rand(shape, generator=generator, device=device)
    normal = lambda: torch.randn(shape, generator=generator, device=device)
    integers = lambda low, high: torch.randint(
        low, high, shape, generator=generator, device=device)
    if name == "normal":
        return rest[0] + rest[1] * normal()
    if name == "uniform":
        return rest[0] + (rest[1] - rest[0]) * uniform()
    if name == "int":
        return integers(rest[0], rest[1] + 1)
    if name == "constant":
        return torch.full(shape, rest[0], device=device)
    if name == "mask":
        return uniform() < rest[0]
    if name == "matrix":
        low, high, structure = rest
        values = low + (high - low) * uniform()
        if structure == "symmetric":
            return values.triu() + values.triu(1).mT
        return values.triu() if structure == "upper" else values.tril()
    if name == "arange":
        return (rest[0] + rest[1] * torch.arange(_product(shape), device=device)).reshape(shape)
    if name == "triangle":
        diagonal, inside, outside, lower = rest
        offset = torch.arange(shape[-1], device=device) - torch.arange(shape[-2], device=device)[:, None]
        is_inside = offset <= diagonal if lower else offset >= diagonal
        return torch.where(is_inside, inside, outside).expand(shape)
    if name == "sign":
        return integers(0, 2) * 2 - 1
    if name == "log_normal":
        return torch.exp(rest[0] * normal())
    if name == "simplex":
        return torch.softmax(normal(), -1)
    if name == "permutation":
        return torch.argsort(uniform(), -1)
    if name == "offsets":
        starts = integers(0, rest[0] + 1).sort().values
        starts[0] = 0
        starts[-1] = rest[0] if rest[1] else starts[-1]
        return starts
    if name == "counts":
        ends = integers(0, rest[0] + 1).reshape(-1)[1:].sort().values
        both = [torch.zeros_like(ends[:1]) if len(ends) else integers(0, 1).reshape(-1), ends]
        return torch.cat([*both, torch.full_like(both[0], rest[0])]).diff().reshape(shape)
    if name == "bags":
        total, bags, begins = rest
        starts = torch.arange(bags + 1, device=device) ** 2 * total // max(1, bags) ** 2
        if begins:
            return starts[: _product(shape)]
        elements = torch.arange(_product(shape), device=device)
        return torch.searchsorted(starts[:bags], elements, right=True) - 1
    if name == "in_window":
        rows, columns = rest[:6], rest[6:]
        window = torch.arange(_product(shape), device=device).reshape(shape)
        row = _in_window(window // columns[1] % rows[1], rows, uniform())
        return row * columns[0] + _in_window(window % columns[1], columns, uniform())
    if name == "distinct":
        extent, inner, bound = rest
        groups = _product(shape) // extent
        drawn = torch.rand((groups, bound), generator=generator, device=device).argsort(-1)
        return drawn[:, :extent].reshape(-1, inner, extent).transpose(1, 2).reshape(shape)
    raise ValueError(f"unknown kind of values `{name}`")


def _tensor(described, generator, device):
    """Makes an input: a view with the case's layout, filled with random values."""
    dtype, shape, stride, offset, kind = described
    extent = offset + 1 + sum((n - 1) * step for n, step in zip(shape, stride))
    storage = torch.zeros(max(extent, 1), dtype=_TORCH[dtype], device=device)
    view = torch.as_strided(storage, shape, stride, offset)
    if any(step == 0 and n > 1 for n, step in zip(shape, stride)):
        storage.copy_(_values(kind, storage.shape, generator, device))
    elif 0 not in shape:
        view.copy_(_values(kind, shape, generator, device))
    return view


def _make(value, generator, device):
    if isinstance(value, dict):
        if "dtype" in value:
            return _TORCH[value["dtype"]]
        return _tensor(value["tensor"], generator, device)
    if isinstance(value, list):
        return [_make(item, generator, device) for item in value]
    return value


def _reference(arguments):
    """Returns the op's outputs in f64, None where it cannot be computed so."""
    widen = lambda t: t.double() if t.is_floating_point() else t
    try:
        return _call_eager({name: _map_tensors(value, widen) for name, value in arguments.items()})
    except (RuntimeError, NotImplementedError):
        return None


def check(device="cuda", verbose=True):
    """Compares the kernel with eager PyTorch on the cases it was judged on, and its gradients.

    An output is right where its distance from the f64 result is at most four times the largest
    of eager's, plus a rounding. Returns whether all cases are right, and there are any.
    """
    generator = torch.Generator(device).manual_seed(0)
    checks = [(name, described, _check_case) for name, described in CASES]
    if BACKWARD:
        checks += [(f"gradient of {name}", described, _check_gradients) for name, described in CASES]
    n_right, n_wrong = 0, 0
    for name, described, check_one in checks:
        outcome, said = check_one(described, generator, device)
        n_right += outcome == "ok"
        n_wrong += outcome == "WRONG"
        if verbose or outcome == "WRONG":
            print(f"{outcome:<8} {name}: {said}")
    n_left_out = len(checks) - n_right - n_wrong
    if n_right + n_wrong == 0:
        print(f"{NAME}: nothing was compared: " + (
            f"all {n_left_out} checks are left out" if CASES else "this module has no cases"))
    else:
        print(f"{NAME}: {n_right} of {n_right + n_wrong} cases are as right as eager PyTorch, "
              f"{n_left_out} left out")
    return n_wrong == 0 and n_right > 0


def _check_case(described, generator, device):
    n_elements = sum(_elements(value) for value in described.values())
    if n_elements > _MOST_ELEMENTS:
        return "left out", f"{n_elements} elements"
    arguments = {key: _make(value, generator, device) for key, value in described.items()}
    try:
        eager = _call_eager(arguments)
    except (RuntimeError, TypeError, ValueError) as error:
        return "left out", f"eager PyTorch refuses it: {str(error).splitlines()[0]}"
    exact = _reference(arguments) or [None] * len(eager)
    try:
        got = call(**arguments)
    except (ValueError, ZeroDivisionError) as error:
        return "left out", f"PyTorch's shape function refuses it: {error}"
    got = list(got) if isinstance(got, (tuple, list)) else [got]
    if len(got) != len(eager):
        return "WRONG", f"{len(got)} outputs, not {len(eager)}"
    results = [_compare(*outputs) for outputs in zip(got, eager, exact)]
    errors = ", ".join(f"{error:.2e}" for error, _ in results)
    return "ok" if all(right for _, right in results) else "WRONG", f"largest error {errors}"


def _elements(value):
    if isinstance(value, dict):
        return _product(value["tensor"][1]) if "tensor" in value else 0
    return sum(map(_elements, value)) if isinstance(value, list) else 0
