"""Compares the gradients of exported pairs with PyTorch's, on the CPU: eager ops stand for the kernels.

Its argument is the folder of the modules; on standard input are the names of the forward ones. Of each, the
check of gradients runs on its cases. Exit status 1 if something differs.
"""

import importlib
import sys

import torch

# Elements of a case beyond which it is left out.
MOST = 1 << 16


def on_the_cpu(module):
    """Registers the eager op as the CPU kernel of the module's op."""
    def eager(*args, **kwargs):
        arguments = module._bound(args, kwargs)
        outputs = [torch.empty(shape, dtype=dtype) if out is None else out.clone()
                   for out, (shape, dtype) in zip(*both(module._call_eager(arguments), module))]
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    module._op.register_kernel("cpu")(eager)


def both(outputs, module):
    return outputs, module._layouts(outputs)


def main(folder):
    sys.path.insert(0, folder)
    n_pairs, n_wrong = 0, 0
    for name in sys.stdin.read().split():
        n_pairs += 1
        module = importlib.import_module(name)
        on_the_cpu(module)
        on_the_cpu(module._backward)
        generator = torch.Generator().manual_seed(0)
        found = {"ok": 0, "WRONG": 0, "left out": 0}
        said = []
        for case, described in module.CASES:
            if sum(map(module._elements, described.values())) > MOST:
                continue
            outcome, text = module._check_gradients(described, generator, "cpu")
            found[outcome] += 1
            if outcome != "ok":
                said.append(f"{name} {case}: {outcome}: {text}")
        if found["WRONG"] or not found["ok"]:
            n_wrong += 1
            print(*said[:3], sep="\n")
    print(f"{n_pairs - n_wrong} of {n_pairs} pairs agree")
    return 1 if n_wrong or not n_pairs else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
