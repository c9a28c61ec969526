"""Inputs of error_ratios.py: the distributions of the judge."""

import torch

HEAVY_LIMIT = 1000.0


def normal(h, shape):
    return torch.randn(shape, generator=h.generator, dtype=torch.float64, device=h.device)


def uniform(h, shape):
    return torch.rand(shape, generator=h.generator, dtype=torch.float64, device=h.device)


def draw(h, distribution, shape, dtype, mean=0.0, std=1.0, large=1e15):
    """A tensor of the distribution; `mean` and `std` are those of `normal`, `large` is the deviation of `large`."""
    if distribution == "uniform":
        x = uniform(h, shape)
    elif distribution == "heavy":
        x = torch.exp(2.0 * normal(h, shape)).clamp(max=HEAVY_LIMIT) * torch.sign(uniform(h, shape) - 0.5)
    elif distribution == "shifted":
        x = 100.0 + normal(h, shape)
    elif distribution == "softmax shifted":
        x = 1000.0 + 3.0 * normal(h, shape)
    elif distribution == "large":
        x = large * normal(h, shape)
    elif distribution == "constant":
        x = torch.full(shape, 0.7, dtype=torch.float64, device=h.device)
    elif distribution == "normal x4":
        x = 4.0 * normal(h, shape)
    else:
        x = mean + std * normal(h, shape)
    if dtype == torch.float16:
        x = x.clamp(-65504.0, 65504.0)
    return x.to(dtype)


def odd(h, shape, magnitude, dtype):
    """Odd integers of magnitude at most `magnitude`, of either sign."""
    count = max(1, (magnitude + 1) // 2)
    value = 2 * torch.randint(count, shape, generator=h.generator, device=h.device) + 1
    sign = 2 * torch.randint(2, shape, generator=h.generator, device=h.device) - 1
    return (value * sign).to(dtype)


def spread_out(shape, nonzero, device):
    """Mask of `nonzero` elements per row, evenly spread, from another place in each row."""
    n = shape[-1]
    flat = torch.arange(torch.Size(shape).numel(), device=device).view(shape)
    place = (flat % n + 7919 * (flat // n)) % n
    return place * nonzero % n < nonzero


def draw_pair(h, distribution, left, right, dtype):
    """The two factors of a product."""
    if distribution == "exact":
        limit = {torch.float16: 31, torch.bfloat16: 127, torch.float32: 4095}[dtype]
        top = {torch.float16: 60000 // 31**2, torch.bfloat16: 2**24 // 127**2, torch.float32: 2**24 // 4095}[dtype]
        a = odd(h, left, limit, dtype) * spread_out(left, min(top, left[-1]), h.device).to(dtype)
        return a, odd(h, right, 1 if dtype == torch.float32 else limit, dtype)
    large = 300.0 if dtype == torch.float16 else 1e15
    second = "normal" if distribution in ("heavy", "large") else distribution
    return draw(h, distribution, left, dtype, large=large), draw(h, second, right, dtype)


def index(h, bound, shape):
    return torch.randint(bound, shape, generator=h.generator, device=h.device)
