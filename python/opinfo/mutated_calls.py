"""Changes recorded calls in one place each and writes PyTorch's verdict: one JSON line per changed call.

    python mutated_calls.py data/opinfo_calls.*.jsonl.gz --out data/mutated_calls.jsonl.gz [--part 0/2] [--calls 8] [--changes 24]

Of each overload the first calls of differing kind are taken (at most --calls, all tensors small), and of each at most --changes
changes, spread over the arguments. Each overload runs in a process of its own with limits on time and memory: a change that ends
the process, or takes too long, is written with status `crashed` and is none of the consumer's business.
A line is that of opinfo_calls.py with `change`, the place and the change in words."""

import argparse
import collections
import gzip
import json
import os
import random
import resource
import signal
import sys
import time
import warnings
import zlib

import codec
import torch
from opinfo_calls import in_f64, needs_wide

warnings.filterwarnings("ignore")
LARGE = 2**31 - 1
SMALL = 600  # elements of all tensors of a call together


def tensor_changes(t, name):
    """Pairs of words and a tensor's JSON."""
    made = codec.read_tensor(t)
    ints = not made.dtype.is_floating_point and not made.dtype.is_complex
    def fill(shape, dtype=made.dtype):
        flat = made.reshape(-1)
        count = torch.Size(shape).numel()
        if flat.numel() == 0:
            return torch.ones(shape, dtype=dtype)
        return flat.repeat(count // flat.numel() + 1)[:count].reshape(shape).to(dtype)
    shape = list(made.shape)
    for d in range(len(shape))[-4:]:
        for change in (1, -1):
            if shape[d] + change >= 0:
                new = shape[:d] + [shape[d] + change] + shape[d + 1:]
                yield f"dim {d} of {name}: {shape[d]} -> {new[d]}", fill(new)
        if shape[d] > 1:
            yield f"dim {d} of {name}: {shape[d]} -> 0", fill(shape[:d] + [0] + shape[d + 1:])
    if shape:
        yield f"{name} loses dim 0", fill(shape[1:])
        yield f"{name} becomes 0-dim", fill([])
    yield f"{name} gets a dim of 1 in front", fill([1] + shape)
    yield f"{name} gets a dim of 2 at the end", fill(shape + [2])
    for short in ("f64", "f32", "f16", "bf16", "i64", "i32", "u8", "b8", "c64"):
        if codec.DTYPES[short] != made.dtype:
            yield f"dtype of {name}: {t['dtype']} -> {short}", fill(shape, codec.DTYPES[short])
    if ints and made.dtype != torch.bool and made.numel():
        for number in (-1, 100, -100):
            other = made.clone().contiguous()
            other.view(-1)[-1] = number if made.dtype.is_signed else abs(number)
            yield f"last element of {name} -> {number}", other


def changes(name, v, argument):
    """Pairs of words and a JSON value; the value None leaves the argument out."""
    (kind, x), = v.items()
    if kind == "tensor":
        for words, made in tensor_changes(x, name):
            yield words, {"tensor": codec.tensor(made)}
    elif kind == "int":
        rank = 5 if "dim" in name else 0
        for number in dict.fromkeys([x + 1, x - 1, -1, 0, 64, -64, LARGE] + ([rank, -rank - 1] if rank else [])):
            if number != x:
                yield f"{name}: {x} -> {number}", {"int": number}
        yield f"{name}: {x} -> {x}.5", {"float": x + 0.5}
    elif kind == "float":
        for number in (-1.0, 0.0, 2.5, "nan", "inf"):
            if number != x:
                yield f"{name}: {x} -> {number}", {"float": number}
        yield f"{name}: {x} -> 1", {"int": 1}
    elif kind == "bool":
        yield f"{name}: {x} -> {not x}", {"bool": not x}
    elif kind == "str":
        for text in ("bogus", "", "none", "mean", "tanh"):
            if text != x:
                yield f"{name}: '{x}' -> '{text}'", {"str": text}
    elif kind == "dtype":
        for short in ("f64", "f16", "i64", "u8", "b8", "c64"):
            if short != x:
                yield f"{name}: {x} -> {short}", {"dtype": short}
    elif kind == "none":
        type_ = str(argument.type)
        if "int" in type_ and "List" not in type_:
            for number in (0, -1, 2, 64):
                yield f"{name}: None -> {number}", {"int": number}
        elif "List[int]" in type_:
            yield f"{name}: None -> [0]", {"list": [{"int": 0}]}
            yield f"{name}: None -> []", {"list": []}
        elif "Tensor" in type_ and "List" not in type_:
            for shape in ([3], [2, 3], []):
                yield f"{name}: None -> tensor of {shape}", {"tensor": codec.tensor(torch.full(shape, 0.5))}
    elif kind == "list":
        if x:
            yield f"{name} loses its last", {"list": x[:-1]}
            yield f"{name} gets its last again", {"list": x + x[-1:]}
            yield f"{name} -> []", {"list": []}
        for i, item in enumerate(x[:3]):
            for words, other in changes(f"{name}[{i}]", item, argument):
                yield words, {"list": x[:i] + [other] + x[i + 1:]}
    if kind != "none":
        yield f"{name} -> None", {"none": None}
    yield f"{name} left out", None


def run(call, words, named):
    """A line with PyTorch's verdict, or None where the call has no form."""
    func = codec.overload(call["op"])
    line = {"op": call["op"], "schema": call["schema"], "level": "mutated", "source": call["source"], "change": words,
            "args": named, "cuda": call["cuda"]}
    values = {n: codec.read_value(v) for n, v in named.items()}
    wide = codec.widened(list(values.values())) if needs_wide(values) else None
    random_op = torch.Tag.nondeterministic_seeded in func.tags or call.get("values") is False
    if random_op:
        line["values"] = False
    try:
        with torch.no_grad():
            args, kwargs = codec.split_args(func._schema, values)
            out = func(*args, **kwargs)
    except Exception as error:
        text = codec.message(error)
        if "allocate memory" in text or "DefaultCPUAllocator" in text:
            return None
        line |= {"status": "refused", "error": type(error).__name__, "message": text}
        return line
    try:
        line |= {"status": "ok", "outputs": codec.outputs(out, 0 if random_op else 4096)}
        changed = [a.name for a in func._schema.arguments if a.alias_info and a.alias_info.is_write]
        changed = {n: codec.value(values[n]) for n in changed if isinstance(values.get(n), torch.Tensor)}
        if changed:
            line["changed"] = changed
    except codec.Unusual:
        return None
    if wide is not None and not random_op:
        truth = in_f64(func, dict(zip(values, wide)), line["outputs"])
        if truth:
            line["f64"] = truth
    return line


def plan(call, most, seed):
    """The changes of one call: --changes of them, drawn with --seed, every argument having its share."""
    schema = codec.overload(call["op"])._schema
    arguments = {a.name: a for a in schema.arguments}
    lists = [list(changes(n, v, arguments[n])) for n, v in call["args"].items()
             if n in arguments and n not in ("device", "pin_memory", "layout", "memory_format", "generator")]
    draw = random.Random(zlib.crc32(json.dumps(call["args"]).encode(), seed))
    for made in lists:
        draw.shuffle(made)
    taken, place = [], 0
    names = [n for n in call["args"] if n in arguments and n not in ("device", "pin_memory", "layout", "memory_format", "generator")]
    while len(taken) < most and any(lists):
        i = place % len(lists)
        place += 1
        if lists[i]:
            words, v = lists[i].pop()
            named = {n: w for n, w in call["args"].items() if n != names[i]}
            if v is not None:
                named = {n: v if n == names[i] else w for n, w in call["args"].items()}
            taken.append((words, named))
    return taken


def work(todo, path):
    most = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + (1 << 30)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    with open(path, "w") as out:
        for item in todo:
            signal.setitimer(signal.ITIMER_REAL, 5)
            try:
                line = run(*item)
            except Exception:
                line = None
            signal.setitimer(signal.ITIMER_REAL, 0)
            out.write((json.dumps(line, separators=(",", ":")) if line else "") + "\n")
            out.flush()


def in_child(calls, most, seed, path):
    """Runs one overload's changes in child processes, a new one behind each that dies. Returns how many lines."""
    todo = [(call, words, named) for call in calls for words, named in plan(call, most, seed)]
    start, lines, crashes = 0, [], 0
    while start < len(todo) and crashes < 25:
        open(path, "w").close()
        child = os.fork()
        if child == 0:
            try:
                work(todo[start:], path)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        done = open(path).read().split("\n")[:-1]
        lines += [d for d in done if d]
        start += len(done)
        if start < len(todo):
            call, words, named = todo[start]
            lines.append(json.dumps({"op": call["op"], "schema": call["schema"], "level": "mutated", "source": call["source"],
                                     "change": words, "args": named, "cuda": call["cuda"], "status": "crashed"}))
            start, crashes = start + 1, crashes + 1
    return lines


def elements(v):
    (kind, x), = v.items()
    if kind == "tensor":
        return torch.Size(x["shape"]).numel()
    return sum(elements(y) for y in x) if kind == "list" else 0


def kind_of(v):
    """What makes calls alike enough that one of them will do."""
    (kind, x), = v.items()
    if kind == "tensor":
        return (len(x["shape"]), x["dtype"])
    if kind == "list":
        return (len(x), kind_of(x[0]) if x else None)
    return (kind, str(x) if kind in ("str", "bool") else None)


def choose(paths, most, seed):
    """A few calls of each overload that PyTorch took: one of each kind, those of f32 first, and types in turn."""
    found = collections.defaultdict(dict)
    for path in paths:
        for text in gzip.open(path, "rt"):
            call = json.loads(text)
            if call["status"] != "ok" or '"data"' not in text and '"tensor"' in text:
                continue
            if sum(map(elements, call["args"].values())) > SMALL or any('"tensor":{"dtype":"c' in json.dumps(v) for v in call["args"].values()):
                continue
            key = tuple((n, kind_of(v)) for n, v in call["args"].items())
            found[call["op"]].setdefault(key, call)
    for op in sorted(found):
        calls = list(found[op].values())
        random.Random(zlib.crc32(op.encode(), seed)).shuffle(calls)
        calls.sort(key=lambda c: '"f32"' not in json.dumps(c["args"]))  # stable: f32 first
        half = [c for c in calls if '"f32"' in json.dumps(c["args"])][: (most + 1) // 2]
        yield op, half + [c for c in calls if c not in half][: most - len(half)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--out", required=True)
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--calls", type=int, default=8)
    parser.add_argument("--changes", type=int, default=24)
    parser.add_argument("--ops", help="overloads, with commas")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    torch.set_num_threads(1)
    count, start, scratch = collections.Counter(), time.time(), options.out + ".scratch"
    with gzip.open(options.out, "wt", compresslevel=5) as file:
        for i, (op, calls) in enumerate(choose(options.files, options.calls, options.seed)):
            if i % parts != part or options.ops and op not in options.ops.split(","):
                continue
            for text in in_child(calls, options.changes, options.seed, scratch):
                count[json.loads(text)["status"]] += 1
                file.write(text + "\n")
            count["overloads"] += 1
            if count["overloads"] % 50 == 0:
                print(i, op, dict(count), round(time.time() - start), file=sys.stderr)
    os.remove(scratch)
    print(json.dumps({"seconds": round(time.time() - start), **count}))


if __name__ == "__main__":
    main()
