"""Writes what PyTorch's own OpInfo samples come down to: one JSON line per distinct call of an ATen overload.

    python opinfo_calls.py --part 0/2 --out data/opinfo_calls.0.jsonl.gz [--ops add,mul] [--samples 40] [--references 40]

Needs PyTorch with its testing dependencies (expecttest, numpy, scipy), no GPU. Sources: samples, reference inputs and error
inputs of every entry of op_db in every element type of DTYPES (complex64 alone among the complex ones, few samples).
Each sample is run as `entry` in inference mode, where composite overloads are seen as they are called (softmax.int,
batch_norm, tile); `dispatch` as autograd leaves them (_softmax, native_batch_norm); `backward`, the calls of its gradients; and some
samples also `inplace` and with `out`."""

import argparse
import collections
import gzip
import itertools
import json
import os
import pickle
import random
import sys
import time
import warnings
import zlib

import codec
import numpy
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._python_dispatch import TorchDispatchMode

warnings.filterwarnings("ignore")
DTYPES = ["f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "b8", "c64"]
REAL = ("f64", "f32", "f16", "bf16")
SAME_SIGNATURE = 3  # calls that differ in elements alone
SLOW = {"linalg.svd", "svd_lowrank", "pca_lowrank", "lobpcg"}
NOT_REPRODUCIBLE = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "empty_permuted"}
LOOKS = {"detach", "is_nonzero", "item", "_local_scalar_dense", "equal", "lift_fresh", "alias"}  # what tests do besides


class Writer:
    def __init__(self):
        self.file = None
        self.count = collections.Counter()
        self.seen = collections.Counter()

    def wants(self, name, named):
        key = hash((name, tuple((n, codec.signature(v)) for n, v in named.items())))
        self.seen[key] += 1
        return self.seen[key] <= SAME_SIGNATURE

    def write(self, line):
        self.count[line["status"]] += 1
        self.count["level " + line["level"]] += 1
        self.file.write(json.dumps(line, separators=(",", ":")) + "\n")


class Trace(TorchDispatchMode):
    def __init__(self, writer, source, level, cuda):
        super().__init__()
        self.writer, self.source, self.level, self.cuda = writer, source, level, cuda

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = str(func)
        base = func._schema.name.split("::")[1]
        if not name.startswith("aten.") or base in LOOKS:
            return func(*args, **kwargs)
        names = [a.name for a in func._schema.arguments]
        named = dict(zip(names, args)) | kwargs
        if not self.writer.wants(name, named):
            return func(*args, **kwargs)
        try:
            line = {"op": name, "schema": str(func._schema), "level": self.level, "source": self.source,
                    "args": {n: codec.value(v) for n, v in named.items()}}
        except codec.Unusual:
            return func(*args, **kwargs)
        line["cuda"] = self.cuda
        random_op = torch.Tag.nondeterministic_seeded in func.tags or base in NOT_REPRODUCIBLE
        if random_op:
            line["values"] = False
        low = not random_op and needs_wide(named)
        wide = codec.widened(list(named.values())) if low and func._schema.is_mutable else None
        try:
            out = func(*args, **kwargs)
        except Exception as error:
            line |= {"status": "refused", "error": type(error).__name__, "message": codec.message(error)}
            self.writer.write(line)
            raise
        try:
            line |= {"status": "ok", "outputs": codec.outputs(out, 0 if random_op else 4096)}
            changed = [a.name for a in func._schema.arguments if a.alias_info and a.alias_info.is_write]
            changed = {n: codec.value(named[n]) for n in changed if isinstance(named.get(n), torch.Tensor)}
            if changed:
                line["changed"] = changed
        except codec.Unusual:
            return out
        if low:
            wide = wide or codec.widened(list(named.values()))
            truth = in_f64(func, dict(zip(named, wide)), line["outputs"])
            if truth:
                line["f64"] = truth
        self.writer.write(line)
        return out


def needs_wide(named):
    def low(v):
        if isinstance(v, torch.Tensor):
            return v.dtype in codec.WIDER or (not v.dtype.is_floating_point and not v.dtype.is_complex)
        return isinstance(v, (list, tuple)) and any(low(x) for x in v)
    return any(low(v) for v in named.values())


def in_f64(func, named, outputs):
    """The outputs of the same call in f64, for each output that has a smaller floating type; none where that has no sense."""
    small = [o.get("tensor", {}).get("dtype") in ("f32", "f16", "bf16", "c64", "c32") for o in outputs]
    if not any(small):
        return None
    try:
        torch.set_default_dtype(torch.float64)
        args, kwargs = codec.split_args(func._schema, named)
        wide = codec.outputs(func(*args, **kwargs))
    except Exception:
        return None
    finally:
        torch.set_default_dtype(torch.float32)
    good = lambda s, w, o: s and w["tensor"]["shape"] == o["tensor"]["shape"] and w["tensor"]["dtype"] in ("f64", "c128")
    if len(wide) != len(outputs):
        return None
    return [w["tensor"].get("data") if good(s, w, o) else None for s, w, o in zip(small, wide, outputs)]


def seed(text, number):
    number = zlib.crc32(text.encode(), number)
    torch.manual_seed(number)
    numpy.random.seed(number)
    random.seed(number)


def tensors(values):
    for v in values:
        if isinstance(v, torch.Tensor):
            yield v
        elif isinstance(v, (list, tuple)):
            yield from tensors(v)


def run_sample(op, sample, writer, source, cuda, grad, variants=False):
    call = lambda: op.op(sample.input, *sample.args, **sample.kwargs)
    for level in ("entry", "dispatch"):
        try:
            state = torch.random.get_rng_state()
            with torch.inference_mode(level == "entry"), torch.no_grad(), Trace(writer, source, level, cuda):
                call()
        except Exception:
            pass
        torch.random.set_rng_state(state)
    if variants:
        run_variants(op, sample, writer, source, cuda)
    if not grad:
        return
    try:
        leaves = [t for t in tensors([sample.input, *sample.args, *sample.kwargs.values()]) if t.is_floating_point()]
        leaves = [t for t in leaves if t.is_leaf]
        for t in leaves:
            t.requires_grad_(True)
        out = [t for t in tensors([call()]) if t.requires_grad and t.is_floating_point()]
        if not out or not leaves:
            return
        grads = [torch.randn(t.shape, dtype=torch.float64).to(t.dtype) for t in out]
        with Trace(writer, source, "backward", cuda):
            torch.autograd.grad(out, leaves, grads, allow_unused=True)
    except Exception:
        pass
    finally:
        for t in leaves:
            t.requires_grad_(False)


def run_variants(op, sample, writer, source, cuda):
    """The same sample in place, and into an output that is given."""
    def copied():
        return sample.transform(lambda t: t.clone() if isinstance(t, torch.Tensor) else t)
    if op.inplace_variant is not None and isinstance(sample.input, torch.Tensor):
        try:
            with torch.no_grad(), Trace(writer, source, "inplace", cuda):
                mine = copied()
                op.inplace_variant(mine.input, *mine.args, **mine.kwargs)
        except Exception:
            pass
    if op.supports_out:
        try:
            with torch.no_grad():
                mine = copied()
                expected = op.op(mine.input, *mine.args, **mine.kwargs)
                out = expected.clone() if isinstance(expected, torch.Tensor) else tuple(t.clone() for t in expected)
                for t in tensors([out]):
                    t.zero_()
                with Trace(writer, source, "out", cuda):
                    op.op(mine.input, *mine.args, **mine.kwargs, out=out)
        except Exception:
            pass


def run_op(op, writer, limits, number):
    full = op.name + ("." + op.variant_test_name if op.variant_test_name else "")
    python_errors = 0
    for short in DTYPES:
        dtype = codec.DTYPES[short]
        few = short == "c64"
        cuda = dtype in (op.dtypesIfCUDA or op.dtypes)
        if dtype not in op.dtypes and not cuda:
            continue
        grad = short in REAL and op.supports_autograd
        kinds = [("sample", lambda: op.sample_inputs("cpu", dtype), limits[0])]
        if op.reference_inputs_func is not None and not few:
            kinds.append(("reference", lambda: op.reference_inputs("cpu", dtype), limits[1]))
        for kind, make, most in kinds:
            seed(f"{full} {short} {kind}", number)
            try:
                # each sample is drawn before the first is run, so that running one cannot change the next
                samples = list(itertools.islice(make(), 4 if few else most))
            except Exception as error:
                print(f"{full} {short}: no {kind}: {type(error).__name__} {str(error)[:80]}", file=sys.stderr)
                continue
            for i, sample in enumerate(samples):
                run_sample(op, sample, writer, f"{full}/{short}/{kind}/{i}", cuda, grad and i < 10, i < 12)
    if op.error_inputs_func is not None:
        seed(f"{full} errors", number)
        try:
            for i, bad in enumerate(itertools.islice(op.error_inputs("cpu"), 100)):
                before = writer.count["refused"]
                run_sample(op, bad.sample_input, writer, f"{full}/error/{i}", True, False)
                python_errors += writer.count["refused"] == before
        except Exception as error:
            print(f"{full}: error inputs: {type(error).__name__} {str(error)[:80]}", file=sys.stderr)
    return python_errors


def in_child(op, writer, limits, number, scratch):
    """Runs an op in a process of its own, since some kernels end the process. Returns its lines, those before the end
    where it died."""
    child = os.fork()
    if child == 0:
        try:
            writer.count.clear()
            with open(scratch, "w", buffering=1) as writer.file:
                errors = run_op(op, writer, limits, number)
            with open(scratch + ".state", "wb") as file:
                pickle.dump((writer.count, writer.seen, errors), file)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    if not os.path.exists(scratch + ".state"):
        writer.count["ops whose process died"] += 1
        print(f"{op.name}: the process died", file=sys.stderr)
        whole = open(scratch).read().rpartition("\n")[0]
        return whole + "\n" if whole else ""
    with open(scratch + ".state", "rb") as file:
        count, writer.seen, errors = pickle.load(file)
    os.remove(scratch + ".state")
    writer.count.update(count)
    writer.count["error inputs refused before any ATen call"] += errors
    return open(scratch).read()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--part", default="0/1", help="K/N: the ops whose place in the sorted list is K modulo N")
    parser.add_argument("--out", required=True)
    parser.add_argument("--ops", help="names in op_db, with commas")
    parser.add_argument("--samples", type=int, default=40)
    parser.add_argument("--references", type=int, default=40)
    parser.add_argument("--first", type=int, default=0, help="skip this many ops of the part")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    part, parts = map(int, options.part.split("/"))
    chosen = sorted(op_db, key=lambda op: (op.name, op.variant_test_name))
    chosen = [op for i, op in enumerate(chosen) if i % parts == part and op.name not in SLOW]
    if options.ops:
        chosen = [op for op in chosen if op.name in options.ops.split(",")]
    chosen = chosen[options.first:]
    writer, start, scratch = Writer(), time.time(), options.out + ".scratch"
    with gzip.open(options.out, "wt", compresslevel=5) as file:
        for i, op in enumerate(chosen):
            then = time.time()
            file.write(in_child(op, writer, (options.samples, options.references), options.seed, scratch))
            if time.time() - then > 5 or i % 50 == 0:
                print(f"{i}/{len(chosen)} {op.name} {time.time() - then:.1f} s; {dict(writer.count)}", file=sys.stderr)
    os.remove(scratch)
    print(json.dumps({"part": options.part, "ops": len(chosen), "seconds": round(time.time() - start), **writer.count}))


if __name__ == "__main__":
    main()
