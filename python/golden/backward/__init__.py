"""Backward ops."""

from . import activation, images, rows, views

__all__ = ["activation", "images", "rows", "views"]
