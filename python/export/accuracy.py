# --------------------------------------------------------------------------------------------------
# When an output is right.

# Relative and absolute error that is allowed beyond four times eager's own.
_ALLOWED = {
    torch.float64: (1e-7, 1e-7), torch.float32: (1.3e-6, 1e-5), torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5), torch.float8_e4m3fn: (0.125, 2e-3),
    torch.float8_e5m2: (0.25, 2e-5),
}


def _compare(got, eager, exact):
    """Returns the largest error, and whether the output is as right as eager's."""
    if eager is None:  # Some ops leave out what the backward pass would need.
        return 0.0, True
    if got.shape != eager.shape or got.dtype != eager.dtype:
        return float("inf"), False
    if got.numel() == 0:
        return 0.0, True
    if not got.is_floating_point():
        return float((got != eager).sum()), bool((got == eager).all())
    exact = eager.double() if exact is None else exact.double()
    error = torch.nan_to_num((got.double() - exact).abs(), nan=float("inf"), posinf=float("inf"))
    same = (got.double() == exact) | (got.isnan() & exact.isnan())
    error = torch.where(same, torch.zeros_like(error), error)
    own = torch.nan_to_num((eager.double() - exact).abs(), nan=0.0, posinf=0.0).max()
    relative, absolute = _ALLOWED[got.dtype]
    right = (error <= absolute + relative * exact.abs() + 4 * own) | (error == 0) | (got == eager)
    return float(error.max()), bool(right.all())
