"""Indexing, movement of data, losses and the ops of language models."""

from . import index, llm, loss, movement, padding

__all__ = ["index", "movement", "padding", "loss", "llm"]
