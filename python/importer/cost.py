"""What a version of a problem costs to evaluate, and what it may cost."""

import math

from initialisation import base_name
from problem import refs

SMALL = {"batch": 6, "input": 20_000, "all": 400_000, "work": 5_000_000}
MIDDLE = {"batch": 15, "input": 300_000, "all": 12_000_000, "work": 50_000_000}


def work(problem):
    """About how many floating-point operations a graph takes."""
    total = 0
    for node in problem.nodes:
        name = base_name(node.func)
        out = node.outputs[0].numel() if node.outputs else 0
        tensors = [problem.tracer.example(r) for r in refs(node.args)]
        if name.startswith("conv"):
            x, weight = tensors[:2]
            transposed = name.startswith("conv_transpose")
            total += 2 * (x.numel() if transposed else out) * weight.numel() // max(1, weight.shape[0])
        elif name in ("linear", "matmul", "mm", "bmm", "addmm", "baddbmm", "scaled_dot_product_attention"):
            total += 2 * out * tensors[1 if name in ("addmm", "baddbmm") else 0].shape[-1]
            total += 2 * tensors[0].numel() * tensors[1].shape[-2] if name.startswith("scaled") else 0
        elif name == "einsum":
            # Every letter is an extent of the loop.
            letters = {}
            for term, tensor in zip(node.args[0].split("->")[0].split(","), tensors):
                letters |= dict(zip(term.strip(), tensor.shape))
            total += 2 * math.prod(letters.values())
        elif name in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
            steps = math.prod(tensors[0].shape[:-1])
            total += 2 * steps * sum(t.numel() for t in tensors[3 if name == "lstm" else 2 :])
        elif "pool" in name and tensors:
            total += max(out, tensors[0].numel()) * 9
        else:
            total += max([out] + [t.numel() for t in tensors[:1]])
    return total


def size(problem):
    return sum(leaf.tensor.numel() for leaf in problem.leaves)


def excess(problem, limits):
    """By which factor a version is over its limits."""
    inputs = [leaf.tensor.numel() for leaf in problem.leaves if leaf.kind == "input"]
    parts = max(inputs, default=0) / limits["input"], size(problem) / limits["all"], work(problem) / limits["work"]
    return max(parts)
