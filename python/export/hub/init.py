# Made by `kgen export`.
"""A CUDA kernel for torch.ops.aten.ATEN, compiled by NVRTC at its first use. CARD.md says how it was judged."""

from . import kernel
from .kernel import Declined, call, check

OPNAME = call

__all__ = ["OPNAME", "check", "Declined"]
