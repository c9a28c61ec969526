"""Indexing, movement of data, losses and the ops of language models."""

from . import choose, index, llm, loss, movement, padding

__all__ = ["choose", "index", "movement", "padding", "loss", "llm"]
