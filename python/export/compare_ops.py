"""Compares exported modules with kgen's catalogue, on the CPU: no kernel runs.

Reads JSON lines on standard input, one per module: "module" (its path), "name" and "cases", each
with "args" (name in the schema, name in the plan, value as in a stored case), "outputs" (layouts)
and "types" (type macros). Checks that the op registers, that its fake implementation gives the
outputs' shapes and types, and that type macros are equal. Exit status 1 if something differs.
"""

import importlib.util
import json
import logging
import sys

import torch
from torch._subclasses.fake_tensor import FakeTensorMode


# Where PyTorch's own shape functions say something else than its kernels do.
KNOWN = {
    "native_group_norm": "statistics of 16-bit inputs are f32, its shape function says 16 bits",
    "native_group_norm_backward": "gradients have the inputs' type, its shape function says that of the statistics",
    "native_batch_norm_backward": "its shape function ignores output_mask",
    "_weight_norm_interface": "norms of 16-bit inputs are f32, its shape function says 16 bits",
    "batch_norm_inference": "saved statistics are empty, its shape function says one per channel",
}


def load(path):
    spec = importlib.util.spec_from_file_location("exported", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tensor(module, spec):
    storage = max(1, spec["offset"] + 1 + sum(
        max(extent - 1, 0) * stride for extent, stride in zip(spec["shape"], spec["stride"])))
    whole = torch.empty(storage, dtype=module._TORCH[spec["dtype"]], device="cuda")
    return torch.as_strided(whole, spec["shape"], spec["stride"], spec["offset"])


def value_of(module, value):
    kind, content = value["kind"], value.get("value")
    if kind == "tensor":
        return tensor(module, content["spec"])
    if kind == "tensors":
        return [item and tensor(module, item["spec"]) for item in content]
    if kind == "d_type":
        return module._TORCH[content]
    return float(content) if kind == "float" else content


def differences(module, case):
    """Yields what differs in a case."""
    arguments = {name: value_of(module, value) for name, _, value in case["args"]}
    try:
        module._call_eager(module._bound((), arguments))
    except (RuntimeError, TypeError, ValueError):
        return  # Eager PyTorch refuses what kgen's op takes; so does the exported one.
    outputs = module.call(**arguments)
    outputs = list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
    got = [(module._SHORT[out.dtype], list(out.shape)) for out in outputs]
    expected = [(out["dtype"], out["shape"]) for out in case["outputs"]]
    if got != expected:
        yield f"outputs are {got}, kgen's {expected}"
    if not all(out.is_contiguous() for out in outputs):
        yield "an output is not contiguous"
    given = module._bound((), arguments)
    types = module._types(given, [(out.shape, out.dtype) for out in outputs])
    if sorted(types) != sorted(map(tuple, case["types"])):
        yield f"types are {types}, kgen's {case['types']}"
    names = [plan_name for _, plan_name in module.PARAMS]
    if [plan_name for _, plan_name, _ in case["args"]] != names:
        yield f"the plan sees {names}"
    if module.TUNED and case is module.first_case and module._tuned(given) != module.TUNED[0][1]:
        yield "the first case is not found among the tuned ones"


def main():
    logging.disable()  # Refusals are expected and not worth their traces.
    n_modules, n_wrong = 0, 0
    for text in sys.stdin:
        line = json.loads(text)
        n_modules += 1
        said = []
        try:
            module = load(line["module"])
            module.first_case = line["cases"][0]
            with FakeTensorMode():
                for case in line["cases"]:
                    said += [f"{case['id']}: {what}" for what in differences(module, case)]
        except Exception as error:  # Whatever it is, the next module is looked at too.
            said.append(f"{type(error).__name__}: {str(error).splitlines()[0]}")
        said = [] if line["name"] in KNOWN else said
        n_wrong += bool(said)
        for what in said[:2]:
            print(f"{line['name']}: {what}")
    print(f"{n_modules - n_wrong} of {n_modules} modules agree")
    return 1 if n_wrong or not n_modules else 0


if __name__ == "__main__":
    sys.exit(main())
