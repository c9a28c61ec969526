"""Backward ops."""

from . import activation, images, rows, views, weights

__all__ = ["activation", "images", "rows", "views", "weights"]
