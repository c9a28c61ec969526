#!/usr/bin/env python3
"""Exported modules judged and timed by KernelBench's own evaluator, on a GPU.

    scripts/kernelbench_gpu.py KERNELBENCH MODELS OUT.jsonl [--only l1_19_relu,..] [--limit-s 300] [--total-s 550]

KERNELBENCH: a copy of the repository ScalingIntelligence/KernelBench, of which src/kernelbench and KernelBench/level*
are read. MODELS: a folder of files that `kgen export --to torch` wrote of imported problems, named as it names them
(l1_19_relu.py). OUT: one JSON object per module and line, flushed as it is made; modules that have a line there
already are left out, so that a call after a stop goes on.

Each module goes through `eval_kernel_against_ref` with its default precision and timing, in a process that is
replaced where it dies or takes longer than the limit. Needs PyTorch with CUDA and numpy. Of the packages that
`kernelbench` imports, those for calls of language models (openai, litellm, dotenv, tqdm, requests) and pydantic are
replaced by stubs where they are missing: the evaluator uses none but pydantic's BaseModel, as a record with defaults.
"""

import argparse
import contextlib
import copy
import gc
import importlib.util
import json
import multiprocessing
import pathlib
import re
import sys
import time
import types

# Result of an evaluation, as far as a process that died can say.
NOTHING = {"compiled": False, "correctness": False, "runtime": -1.0, "runtime_stats": {}, "metadata": {}}


class Record:
    """Stands for pydantic's BaseModel: annotated fields with defaults."""

    def __init__(self, **fields):
        for name in type(self).__annotations__:
            setattr(self, name, fields.pop(name) if name in fields else copy.deepcopy(getattr(type(self), name)))
        if fields:
            raise TypeError(f"unknown fields {sorted(fields)}")


def unused(*_args, **_kwargs):
    raise RuntimeError("this package is a stub, which an evaluation does not need")


STUBS = {
    "dotenv": {"load_dotenv": lambda *_args, **_kwargs: False},
    "tqdm": {"tqdm": lambda items, *_args, **_kwargs: items},
    "openai": {"OpenAI": unused},
    "litellm": {"completion": unused},
    "requests": {},
    "pydantic": {"BaseModel": Record},
}


@contextlib.contextmanager
def stubs():
    """Puts stubs in the place of packages that are not installed, for as long as `kernelbench` is imported: PyTorch
    looks for some of them later and must not find any. Gives their names."""
    missing = [name for name in STUBS if name not in sys.modules and importlib.util.find_spec(name) is None]
    for name in missing:
        module = sys.modules[name] = types.ModuleType(name)
        vars(module).update(STUBS[name])
    try:
        yield missing
    finally:
        for name in missing:
            del sys.modules[name]


def plain(value):
    """Returns a value as JSON has it; exceptions and the like become text."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def evaluate(task, args):
    """Evaluates one module in this process."""
    import torch
    from kernelbench.eval import eval_kernel_against_ref

    original = pathlib.Path(task["problem"]).read_text(encoding="utf-8")
    custom = pathlib.Path(task["model"]).read_text(encoding="utf-8")
    start = time.perf_counter()
    result = eval_kernel_against_ref(
        original, custom, num_correct_trials=args.correct_trials, num_perf_trials=args.perf_trials,
        measure_performance=True, verbose=False, device=torch.device(args.device), backend="cuda")  # fmt: skip
    seconds = time.perf_counter() - start
    if result is None:
        return {**NOTHING, "seconds": seconds, "error": "the evaluator returned nothing"}
    names = [*NOTHING, "ref_runtime", "ref_runtime_stats"]
    found = {name: plain(getattr(result, name)) for name in names if hasattr(result, name)}
    if found["correctness"] and found["runtime"] > 0 and found.get("ref_runtime", -1) > 0:
        found["speedup"] = found["ref_runtime"] / found["runtime"]
    return {**found, "seconds": seconds}


def work(pipe, args):
    """Evaluates what comes through the pipe, until nothing more does."""
    sys.path.insert(0, str(pathlib.Path(args.kernelbench) / "src"))
    # The evaluator prints.
    with contextlib.redirect_stdout(sys.stderr):
        try:
            import torch

            with stubs() as missing:
                import kernelbench.eval  # noqa: F401
            pipe.send({"stubs": missing, "torch": torch.__version__, "gpu": torch.cuda.get_device_name(args.device)})
        except Exception as error:
            pipe.send({"failed": f"{type(error).__name__}: {error}"})
            return
        while (task := pipe.recv()) is not None:
            start = time.perf_counter()
            try:
                result = evaluate(task, args)
            except Exception as error:
                seconds = time.perf_counter() - start
                result = {**NOTHING, "seconds": seconds, "error": f"{type(error).__name__}: {error}"}
            try:
                gc.collect()
                torch.cuda.synchronize()
                torch.cuda.empty_cache()
            except Exception:
                # A fault leaves the context unusable for what comes after.
                pipe.send((result, False))
                return
            pipe.send((result, True))


class Worker:
    """The process that evaluates."""

    def __init__(self, args):
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(theirs, args), daemon=True)
        self.process.start()
        theirs.close()
        found, error = self.answer(180)
        self.facts = found or {"failed": error}

    def answer(self, limit_s):
        """Returns the next answer, and why there is none."""
        try:
            return (self.pipe.recv(), None) if self.pipe.poll(limit_s) else (None, f"no result in {limit_s:.0f} s")
        except (EOFError, OSError):
            return None, "the process died"

    def evaluate(self, task, limit_s):
        """Returns the result of one module, and whether its time was over."""
        start = time.perf_counter()
        with contextlib.suppress(OSError):
            self.pipe.send(task)
        found, error = self.answer(limit_s)
        if found is None:
            self.stop()
            return {**NOTHING, "seconds": time.perf_counter() - start, "error": error}, error.startswith("no result")
        result, is_usable = found
        if not is_usable:
            self.stop()
        return result, False

    def is_alive(self):
        return self.process.is_alive()

    def stop(self):
        self.process.kill()
        self.process.join()


def tasks(kernelbench, models):
    """Returns the modules with their problems, and names the modules that have none."""
    found = []
    for model in sorted(models.glob("*.py"), key=lambda path: [int(n) for n in re.findall(r"\d+", path.name)]):
        name = re.match(r"l(\d+)_(\d+)(_|\.)", model.name)
        folder = kernelbench / "KernelBench" / f"level{name[1]}" if name else None
        problems = sorted(folder.glob(f"{name[2]}_*.py")) if name else []
        if len(problems) == 1:
            level, number = int(name[1]), int(name[2])
            found.append({"level": level, "id": number, "problem": str(problems[0]), "model": str(model)})
        else:
            print(f"left out: {model.name} has {len(problems)} problems", file=sys.stderr)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernelbench", type=pathlib.Path)
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--only", help="names of modules without .py, with commas between them")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--limit-s", type=float, default=300.0, help="seconds that one module may take")
    parser.add_argument("--total-s", type=float, default=float("inf"), help="seconds after which none is begun")
    parser.add_argument("--correct-trials", type=int, default=5)
    parser.add_argument("--perf-trials", type=int, default=100)
    args = parser.parse_args()
    start = time.perf_counter()
    lines = args.out.read_text(encoding="utf-8").splitlines() if args.out.exists() else []
    done = {json.loads(line)["model"] for line in lines if line.strip()}
    only = set(args.only.split(",")) if args.only else None
    wanted = [task for task in tasks(args.kernelbench, args.models)
              if pathlib.Path(task["model"]).name not in done
              and (only is None or pathlib.Path(task["model"]).stem in only)]  # fmt: skip
    worker, n_correct, n_done = None, 0, 0
    with args.out.open("a", encoding="utf-8") as out:
        for task in wanted:
            left = args.total_s - (time.perf_counter() - start)
            if left <= 0:
                break
            if worker is None or not worker.is_alive():
                worker = Worker(args)
                print(json.dumps(worker.facts), file=sys.stderr, flush=True)
                if "failed" in worker.facts:
                    raise SystemExit(1)
            result, is_over = worker.evaluate(task, min(args.limit_s, left))
            if is_over and left < args.limit_s:
                break  # Its own limit was not over: the next call tries it again.
            named = {**task, "problem": pathlib.Path(task["problem"]).name, "model": pathlib.Path(task["model"]).name}
            print(json.dumps({**named, **result, "hardware": worker.facts["gpu"]}), file=out, flush=True)
            n_done, n_correct = n_done + 1, n_correct + result["correctness"]
            said = result.get("error") or f"correct {result['correctness']}, {result['runtime']} ms"
            print(f"{named['model']}: {said}, {result['seconds']:.1f} s", file=sys.stderr, flush=True)
    if worker is not None:
        worker.stop()
    print(f"{n_correct} of {n_done} correct, {len(wanted) - n_done} not begun")


if __name__ == "__main__":
    main()
