#!/usr/bin/env bash
# The time that an evaluation of a kernel takes at the sizes of models (scripts/eval_speed.toml), against PyTorch:
# cold, each in a process of its own, and warm, all in one process.
#   scripts/eval_speed_gpu.sh KGEN OUT
# KGEN: the binary. OUT: the folder for results: speed.txt, the table; the records beside it.
# Needs a Python with PyTorch; no Rust.
set -uo pipefail
kgen=$(realpath "$1") out=$(realpath -m "$2")
cd "$(dirname "$0")/.."
mkdir -p "$out"
python3 - "$kgen" "$out" <<'PY'
import json, pathlib, re, shutil, statistics, subprocess, sys, time

kgen, out = sys.argv[1], pathlib.Path(sys.argv[2])
suite, baselines = pathlib.Path("scripts/eval_speed.toml"), pathlib.Path("suites/baselines")
ops = re.findall(r'^name = "(\w+)"', suite.read_text(), re.M)
options = ["--suite", str(suite), "--device", "cuda:0", "--baseline", "aten", "--seed", "1"]
folder = out / "kernels"


def pasted(text):
    """A kernel file with its parts, each as far to the right as its `#include`."""
    def part(match):
        lines = pasted((baselines / "parts" / match[2]).read_text()).splitlines()
        return "".join((match[1] if line else "") + line + "\n" for line in lines)
    return re.sub(r'^([ \t]*)#include "([^"]+)"\n', part, text, flags=re.M)


# Other text than that of the kernels that outputs are compared with, as a model's reply has.
for op in ops:
    (folder / op).mkdir(parents=True, exist_ok=True)
    (folder / op / f"{op}.cu").write_text(pasted((baselines / f"{op}.cu").read_text()) + "\n// A copy.\n")


def stages(evaluation):
    times = {time["stage"]: time["seconds"] for time in evaluation["stage_times"]}
    return "  ".join(f"{stage} {seconds:.2f}" for stage, seconds in times.items() if seconds >= 0.01)


def steps(evaluation):
    times = {}
    for case in evaluation.get("cases", []):
        for step in (case.get("full_size") or {}).get("steps", []):
            times[step["step"]] = times.get(step["step"], 0) + step["seconds"]
    return "  ".join(f"{step} {seconds:.2f}" for step, seconds in times.items() if seconds >= 0.02)


log = (out / "speed.txt").open("w")


def line(text):
    print(text, flush=True)
    log.write(text + "\n")


cold = []
for op in ops:
    began = time.monotonic()
    done = subprocess.run([kgen, "eval", folder / op / f"{op}.cu", "--op", op, *options, "--format", "json"],
                          capture_output=True, text=True)
    seconds = time.monotonic() - began
    (out / f"cold_{op}.json").write_text(done.stdout)
    try:
        evaluation = json.loads(done.stdout)["data"]
    except (ValueError, KeyError):
        line(f"cold {op}: {seconds:.2f} s, no record: {done.stderr[-300:]}")
        continue
    cold.append(seconds)
    speedup = (evaluation["speedups"] or [{}])[0].get("geomean")
    line(f"cold {op:30} {seconds:6.2f} s  {evaluation['verdict']}  x{speedup}  {stages(evaluation)}")
    line(f"     {steps(evaluation)}")

shutil.rmtree(out / "runs", ignore_errors=True)
began = time.monotonic()
done = subprocess.run([kgen, "run", "--backend", "pregenerated", "--kernels-dir", folder, *options, "--output-dir", out / "runs",
                       "--run-id", "warm", "--max-concurrent-ops", "1"], capture_output=True, text=True)
wall = time.monotonic() - began
(out / "warm.txt").write_text(done.stdout + done.stderr)
warm = []
for file in sorted((out / "runs" / "warm").glob("*/*.eval.json")):
    evaluation = json.loads(file.read_text())
    seconds = sum(time["seconds"] for time in evaluation["stage_times"])
    warm.append(seconds)
    line(f"warm {evaluation['op']:30} {seconds:6.2f} s  {evaluation['verdict']}  {stages(evaluation)}")
    line(f"     {steps(evaluation)}")
line(f"cold: median {statistics.median(cold or [0]):.2f} s of {len(cold)}, slowest {max(cold or [0]):.2f} s")
line(f"warm: median {statistics.median(warm or [0]):.2f} s of {len(warm)}, slowest {max(warm or [0]):.2f} s; whole run {wall:.1f} s")
PY
