"""PyTorch modules as graphs of ATen ops, for `kgen import`.

    python3 trace.py OUT_DIR SPEC.json

SPEC holds `files`, a list of {path, class, name}, perhaps `function` {path, name, inputs}, `eval`, `python_reference`
(a module without a graph is taken all the same) and `limit_s`. One
JSON line on stdout tells of each file: {name, ok} and, where it is not ok, {error, line, op}. OUT_DIR gets NAME.json
with a graph for the file as it is and for smaller versions of it, the latter with the module's f64 results. The files'
own code runs here.
"""

import contextlib
import hashlib
import json
import logging
import os
import signal
import sys
import time
import warnings

LIMIT_S = 120
# Seconds of the processor: the search ends well before the limit of the file, and in the same place under any load.
SEARCH_S = 16

try:
    import torch

    from check import computed, real, samples
    from constants import INPUTS_FILE, Source
    from cost import SMALL, excess, work
    from drawn import drawn
    from opaque import Opaque
    from problem import Problem
    from values import Refused
    from variants import SLACK, Search
except (ImportError, OSError) as error:
    print(f"trace.py needs torch and numpy: {error}", file=sys.stderr)
    sys.exit(3)


class TimeOut(BaseException):
    """Not an Exception, so that user code does not catch it."""


def time_out(*_):
    raise TimeOut


@contextlib.contextmanager
def silent():
    """Takes stdout and stderr away from the user's code, also from code that writes to the descriptors."""
    sys.stdout.flush()
    kept = os.dup(1), os.dup(2)
    null = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(null, descriptor)
    try:
        with open(os.devnull, "w", encoding="utf-8") as sink, contextlib.redirect_stdout(sink):
            with contextlib.redirect_stderr(sink):
                yield
    finally:
        for descriptor, old in zip((1, 2), kept):
            os.dup2(old, descriptor)
            os.close(old)
        os.close(null)


def traced(request, out_dir, limit_s):
    """Writes the problem of one file."""
    started = time.process_time()
    name, path = request["name"], request["path"]
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"the file cannot be read: {error}") from error
    try:
        source = Source(path, text, request.get("function"))
    except SyntaxError as error:
        if error.filename == INPUTS_FILE:
            inputs = request["function"]["inputs"]
            raise Refused(f"syntax error in the inputs `{inputs}`: {error.msg}") from error
        raise Refused(f"syntax error: {error.msg}", error.lineno) from error
    try:
        record = versions(source, request, Problem, started + min(SEARCH_S, limit_s / 2))
    except Refused as refusal:
        if not request.get("python_reference"):
            raise
        deadline = time.process_time() + min(SEARCH_S, limit_s / 2)
        record = versions(source, request, Opaque, deadline)
        record["notes"].insert(0, f"It has no graph of kgen's ops: {refusal}.")
    function = request.get("function")
    record |= {"format": 1, "kind": "function" if function else "module", "torch": torch.__version__.split("+")[0],
               "file": os.path.basename(path), "sha256": hashlib.sha256(text.encode()).hexdigest(),
               "class": function["name"] if function else request["class"], "source": text,
               "train": not request["eval"]}  # fmt: skip
    target = os.path.join(out_dir, f"{name}.json")
    with open(target + ".part", "w", encoding="utf-8") as file:
        json.dump(record, file)
    os.replace(target + ".part", target)


def versions(source, request, kind, deadline):
    """The file as it is, and smaller versions of it."""
    original = kind(source, request, {})
    search = Search(source, request, original, deadline)
    found = search.variants()
    found += [("drawn", p) for p in drawn(search, [p for role, p in found if role == "small"])]
    notes = list(original.notes)
    if not any(role == "small" for role, _ in found):
        if excess(original, SMALL) <= SLACK:
            notes.append("no other version: the original is small")
        else:
            notes.append(f"no small version: {search.reason()}")
    # The smallest version shows how values are drawn where that was not followed.
    smallest = min([p for _, p in found] + [original], key=work)
    seen = {}
    if any(p.lost() for _, p in [*found, ("original", original)]):
        seen = samples(smallest, real(source, request, smallest.values))
    variants = []
    for i, (role, problem) in enumerate([("original", original), *found]):
        written = {"role": role, "constants": source.constants(problem.values), "work": work(problem)}
        written |= problem.written(seen)
        written["check"] = None
        checked = role in ("small", "drawn") or i == 0 and excess(original, SMALL) <= SLACK
        if checked and not isinstance(problem, Opaque):
            try:
                written["check"] = computed(problem, source, request)
            except Refused:
                raise
            except Exception as error:
                notes.append(f"no check of variant {i}: {type(error).__name__}: {(str(error).splitlines() or [''])[0]}")
        variants.append(written)
    differ = [k for k in variants[0]["constants"] if len({v["constants"][k] for v in variants}) > 1]
    return {"constants": differ, "notes": list(dict.fromkeys(notes)), "variants": variants}


def told(request, out_dir, limit_s):
    """What is said of one file."""
    signal.signal(signal.SIGALRM, time_out)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    name, line, op = request["name"], None, None
    try:
        with silent():
            traced(request, out_dir, limit_s)
        return {"name": name, "ok": True}
    except Refused as refusal:
        message, line, op = str(refusal), refusal.line, refusal.op
    except TimeOut:
        message = f"no result within {limit_s} s"
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        message = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return {"name": name, "ok": False, "error": message, "line": line, "op": op}


def requests(spec):
    options = {name: bool(spec.get(name)) for name in ("eval", "python_reference")}
    for file in spec.get("files") or []:
        yield {"class": "Model", **options, **file}
    function = spec.get("function")
    if function:
        yield {**options, "path": function["path"], "name": function["name"], "function": function}


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: trace.py OUT_DIR SPEC.json")
    out_dir, spec_path = sys.argv[1:]
    try:
        with open(spec_path, encoding="utf-8") as file:
            spec = json.load(file)
        os.makedirs(out_dir, exist_ok=True)
    except (OSError, ValueError) as error:
        sys.exit(f"trace.py: {error}")
    warnings.filterwarnings("ignore")
    # torch logs what it refuses, at length; a search is refused much.
    logging.disable(logging.CRITICAL)
    for request in requests(spec):
        print(json.dumps(told(request, out_dir, spec.get("limit_s") or LIMIT_S)), flush=True)


if __name__ == "__main__":
    main()
