#!/usr/bin/env bash
# The builtin kernels against PyTorch on a GPU: calls at the sizes of models (scripts/model_sizes.log), and the suite huggingface.
#   scripts/builtin_gpu.sh KGEN OUT
# KGEN: the binary. OUT: the folder for results: a table of all timed cases, and of each suite what kgen said.
# Needs a Python with PyTorch; no Rust.
set -uo pipefail
kgen=$(realpath "$1") out=$(realpath -m "$2")
cd "$(dirname "$0")/.."
mkdir -p "$out"
runs=$(mktemp -d)
trap 'rm -rf "$runs"' EXIT
for suite in scripts/model_sizes.log huggingface; do
  name=$(basename "$suite" .log)
  "$kgen" run --backend builtin --suite "$suite" --topn 6 --device cuda:0 --baseline aten --no-screen --seeds 1 --seed 1 \
    --output-dir "$runs" --run-id "$name" >"$out/$name.txt" 2>&1
  echo "exit $?" >>"$out/$name.txt"
done
python3 - "$runs" >"$out/builtin.md" <<'PY'
import json, pathlib, sys
print("| suite | call | us | PyTorch's us | speedup |\n|---|---|---|---|---|")
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.eval.json")):
    evaluation = json.loads(path.read_text())
    suite = path.relative_to(sys.argv[1]).parts[0]
    for timing in evaluation.get("timings", []):
        for baseline in timing["baselines"]:
            if baseline.get("timing") and baseline.get("comparison"):
                print(f"| {suite} | {evaluation['op']} {timing['case']} | {timing['candidate']['median_us']:.2f} "
                      f"| {baseline['timing']['median_us']:.2f} | {baseline['comparison']['speedup']:.3f} |")
PY
