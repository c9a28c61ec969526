"""Elementwise ops."""

from . import binary, ternary, unary

__all__ = ["unary", "binary", "ternary"]
