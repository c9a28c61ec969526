"""Input tensors: seeded values, special values, and layouts other than contiguous."""

import math
import random

import torch

from .codec import DTYPES

FLOATS = ("f32", "f64", "f16", "bf16")
INTS = ("i64", "i32", "i16", "i8", "u8")
LARGEST = {"f64": 1.7976931348623157e308, "f32": 3.4028234663852886e38, "bf16": 3.3895313892515355e38, "f16": 65504.0}
SMALLEST = {"f64": 5e-324, "f32": 1e-45, "bf16": 9.2e-41, "f16": 6e-8}
NAN, INF = math.nan, math.inf

SPECIAL = [
    NAN,
    INF,
    -INF,
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    -1.5,
    2.5,
    -2.5,
    3.0,
    -3.0,
    6.0,
    20.0,
    21.0,
    -21.0,
    90.0,
    -110.0,
    1e-3,
    -1e-3,
]


def tensor(values, dtype="f32"):
    """A tensor of the given (nested) values."""
    return torch.tensor(values, dtype=torch.float64 if dtype.startswith("f8") else DTYPES[dtype]).to(DTYPES[dtype])


def special(dtype="f32"):
    """The values where elementwise functions go wrong, 1-d."""
    edge = [LARGEST[dtype], -LARGEST[dtype], SMALLEST[dtype], -SMALLEST[dtype]]
    return tensor(SPECIAL + edge, dtype)


class Gen:
    """Values of one op, seeded by its name. All shapes are tuples, all dtypes are kgen's names."""

    def __init__(self, name):
        self.random = random.Random(f"golden {name}")

    def fill(self, shape, dtype, draw):
        """A contiguous tensor whose elements are drawn one after another."""
        n = math.prod(shape)
        return torch.tensor([draw() for _ in range(n)], dtype=torch.float64).to(DTYPES[dtype]).reshape(shape)

    def normal(self, shape, dtype="f32", scale=1.5, mean=0.0):
        """Normally distributed values."""
        return self.fill(shape, dtype, lambda: self.random.gauss(mean, scale))

    def uniform(self, shape, dtype="f32", lo=0.0, hi=1.0):
        """Uniform values of [lo, hi)."""
        return self.fill(shape, dtype, lambda: self.random.uniform(lo, hi))

    def ints(self, shape, dtype="i64", lo=None, hi=None):
        """Uniform integers of [lo, hi], by default small ones of the dtype."""
        lo = lo if lo is not None else 0 if dtype in ("u8", "bool") else -9
        hi = hi if hi is not None else 1 if dtype == "bool" else 9
        return self.fill(shape, dtype, lambda: float(self.random.randint(lo, hi)))

    def grid(self, shape, dtype="f32", step=0.5, n=4):
        """Multiples of `step` in [-n step, n step]: few different values, so ties are common."""
        return self.fill(shape, dtype, lambda: step * self.random.randint(-n, n))

    def distinct(self, shape, dtype="f32", step=0.25):
        """Different multiples of `step` around 0, in random order: no ties."""
        n = math.prod(shape)
        order = list(range(n))
        self.random.shuffle(order)
        signed = dtype not in ("u8", "bool")
        values = [step * (v - (n // 2 if signed else 0)) for v in order]
        return torch.tensor(values, dtype=torch.float64).to(DTYPES[dtype]).reshape(shape)

    def values(self, shape, dtype="f32"):
        """Normal values for floats, small integers otherwise."""
        return self.normal(shape, dtype) if dtype in FLOATS else self.ints(shape, dtype)

    def mask(self, shape):
        """Random booleans."""
        return self.ints(shape, "bool")


def transposed(t):
    """`t` with its first and last dimensions swapped in memory."""
    return t.transpose(0, -1).contiguous().transpose(0, -1)


def gapped(t):
    """`t` as every second element of a longer row, from element 1 on."""
    base = torch.full((*t.shape[:-1], 2 * t.shape[-1] + 1), 77, dtype=t.dtype)
    base[..., 1::2] = t
    return base[..., 1::2]


def offset(t):
    """`t` contiguous, behind one more slice of its first dimension."""
    base = torch.full((t.shape[0] + 1, *t.shape[1:]), 77, dtype=t.dtype)
    base[1:] = t
    return base[1:]


def expanded(t):
    """The first slice of `t`, repeated along the first dimension by stride 0."""
    return t[:1].clone().expand(t.shape)


def channels_last(t):
    """A 4-d `t` with its channels innermost in memory."""
    return t.contiguous(memory_format=torch.channels_last)


LAYOUTS = (transposed, gapped, offset, expanded)
