"""Runs the golden cases on a GPU as well, and prints where PyTorch's CUDA kernels differ from those of the CPU.

    python golden_cuda.py [--family forward] [--show 2]

A Markdown table with a row per op that differs: in how many cases shapes or types, special values (NaN, infinities), or
numbers differ by more than 16 roundings of their type at the scale of the output; which calls only one of both takes."""

import argparse
import base64
import collections
import importlib
import json

import torch

from golden.codec import DTYPES
from golden.record import OPS

ROUNDINGS = 16
UNIT = {torch.float64: 2.0**-53, torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8,
        torch.float8_e4m3fn: 2.0**-4, torch.float8_e5m2: 2.0**-3}


def tensor(record, device):
    dtype = DTYPES[record["dtype"]]
    data = bytearray(base64.b64decode(record["data"]))
    flat = torch.frombuffer(data, dtype=torch.uint8).clone().view(dtype) if data else torch.empty(0, dtype=dtype)
    shape = record["shape"]
    if "stride" in record or "offset" in record:
        stride = record.get("stride") or torch.empty(shape, device="meta").stride()
        return torch.as_strided(flat.to(device), shape, stride, record.get("offset", 0))
    return flat.to(device).reshape(shape)


def value(v, device):
    if isinstance(v, dict):
        if "data" in v:
            return tensor(v, device)
        if "list" in v:
            return [None if item is None else tensor(item, device) for item in v["list"]]
        return DTYPES[v["dtype"]] if "dtype" in v else float(v["float"])
    return v


def difference(got, wanted):
    """In what the outputs of both differ first, None where they agree."""
    if len(got) != len(wanted):
        return "shape or type", f"{len(got)} outputs, {len(wanted)} on the CPU"
    for index, (gpu, cpu) in enumerate(zip(got, wanted)):
        if gpu.dtype != cpu.dtype or gpu.shape != cpu.shape:
            return "shape or type", f"output {index} is {describe(gpu)}, on the CPU {describe(cpu)}"
    for index, (gpu, cpu) in enumerate(zip(got, wanted)):
        if cpu.numel() == 0:
            continue
        a, b = gpu.double(), cpu.double()
        same = (a == b) | (a.isnan() & b.isnan())
        special = ~same & ~(a.isfinite() & b.isfinite())
        if bool(special.any()):
            at = int(special.reshape(-1).nonzero()[0])
            return "special values", f"{a.reshape(-1)[at].item()}, on the CPU {b.reshape(-1)[at].item()}"
        finite = b[b.isfinite()]
        scale = float(finite.abs().max()) if finite.numel() else 0.0
        error = torch.where(same, 0.0, (a - b).abs())
        if float(error.max()) > ROUNDINGS * UNIT.get(cpu.dtype, 0.0) * scale:
            at = int(error.reshape(-1).argmax())
            return "numbers", f"{a.reshape(-1)[at].item():.6g}, on the CPU {b.reshape(-1)[at].item():.6g} ({cpu.dtype})"
    return None


def describe(t):
    return f"{str(t.dtype).removeprefix('torch.')}{list(t.shape)}"


def compare(op, record):
    """The kind of a case's difference and an example, None where there is none."""
    on_gpu = {name: value(v, "cuda") for name, v in record["args"].items()}
    try:
        result = op.call(**on_gpu)
        torch.cuda.synchronize()
    except (RuntimeError, TypeError, ValueError, NotImplementedError, IndexError) as error:
        if "raises" in record:
            return None
        return "refused on the GPU", str(error).strip().splitlines()[0][:110]
    if "raises" in record:
        return "taken on the GPU", f"the CPU says: {record['raises'][:100]}"
    results = [result] if isinstance(result, torch.Tensor) else list(result)
    return difference([t.cpu() for t in results], [tensor(t, "cpu") for t in record["outputs"]])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", action="append", help="families of golden.py; all without")
    parser.add_argument("--show", type=int, default=1, help="examples of each kind (%(default)s)")
    args = parser.parse_args()
    for family in args.family or ["pointwise", "fold", "dense", "place", "serving", "backward"]:
        module = importlib.import_module(f"golden.{family}")
        for name in module.__all__:
            getattr(module, name).cases()
    n_cases = n_differ = 0
    print("| op | difference | cases | example |\n|---|---|---:|---|")
    for name, op in sorted(OPS.items()):
        found = collections.defaultdict(list)
        for line in op.lines:
            record = json.loads(line)
            # Values out of range end in an assertion on the device, which ends the process; ties are open.
            if {"values", "ties"} & set(record.get("note", "").split(",")):
                continue
            n_cases += 1
            differs = compare(op, record)
            if differs:
                found[differs[0]].append(differs[1])
        for kind, examples in found.items():
            n_differ += len(examples)
            print(f"| `{name}` | {kind} | {len(examples)} of {len(op.lines)} | {'; '.join(examples[:args.show])} |")
    print(f"\n{n_differ} of {n_cases} cases of {len(OPS)} ops differ, torch {torch.__version__}, "
          f"{torch.cuda.get_device_name()}")


if __name__ == "__main__":
    main()
