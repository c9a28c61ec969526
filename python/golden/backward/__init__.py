"""Backward ops."""

from . import activation, rows

__all__ = ["activation", "rows"]
