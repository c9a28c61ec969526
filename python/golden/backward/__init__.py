"""Backward ops."""

from . import activation, rows, views

__all__ = ["activation", "rows", "views"]
