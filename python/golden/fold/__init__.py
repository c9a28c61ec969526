"""Reductions, scans, sorting and normalisation."""

from . import arg, norm, reduce, scan, softmax

__all__ = ["reduce", "arg", "softmax", "norm", "scan"]
