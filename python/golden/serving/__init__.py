"""Ops of serving and training libraries: vLLM, FlashInfer, Liger-Kernel.

Each is defined by the composition in its module, in PyTorch, after the library's published reference. They compute in
f32 (f64 in the f64 run) and round once at the end, except where a docstring says that a value is rounded before.
"""

from . import activation, attention, experts, loss, norm, packed, probs, quant, scan

__all__ = ["activation", "norm", "quant", "experts", "probs", "loss", "packed", "attention", "scan"]
