"""Contractions, convolutions, attention, pooling, resampling and fp8."""

from . import attention, conv, matmul, pool, quant, recurrent, resample, resize

__all__ = ["matmul", "conv", "attention", "pool", "resample", "resize", "quant", "recurrent"]
