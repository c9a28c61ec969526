"""The cases of error_ratios.py: ops, shapes, input distributions, implementations."""

from .attention import attention
from .folds import norms, pools, reductions, softmaxes
from .fused import fp8, fused, indexing
from .losses import losses
from .pointwise import unaries
from .products import convolutions, products

GROUPS = [products, convolutions, attention, norms, softmaxes, reductions, pools, unaries, losses, indexing, fp8, fused]
