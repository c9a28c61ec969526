"""A reward of a result. Every adapter takes a function in its place."""

from __future__ import annotations

import math

from .protocol import of_kernel
from .results import Result


def reward(result: Result, *, base: tuple[float, float] = (0.1, 0.3)) -> float:
    """From 0 to 1: `base[0]` for a kernel that compiles, `base[1]` more for a right one, the rest for its speed.

    Speed counts by the lower bound of the speedup, on a scale of logarithms from the baseline's time to the least
    that the hardware allows (`floor_us`). Where the baseline is at that limit, no slower counts in full. A
    speedup that was not measured, or has no floor beside it, counts nothing.

    Raises `InfraError` where the machine failed: there is no number then.
    """
    if not of_kernel(result).compiled:
        return 0.0
    if not result.correct:
        return base[0]
    return sum(base) + (1 - sum(base)) * speed(result)


def speed(result: Result) -> float:
    """Share of the way from the baseline to the hardware's limit that a kernel surely went, 0 to 1."""
    if result.speedup is None or result.baseline_us is None or result.floor_us is None:
        return 0.0
    if result.baseline_us <= result.floor_us:
        return float(result.speedup.verdict != "slower")
    room = math.log(result.baseline_us / result.floor_us)
    return min(1.0, max(0.0, math.log(max(result.speedup.lower, 1e-9)) / room))
