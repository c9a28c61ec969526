"""Golden vectors: results of PyTorch for small cases of every op of the catalogue."""
