#!/usr/bin/env bash
# The builtin kernels against PyTorch on a GPU: calls at the sizes of models (scripts/model_sizes.log), and the suite huggingface.
#   scripts/builtin_gpu.sh KGEN OUT
# KGEN: the binary. OUT: the folder for results: of each suite what kgen printed.
# Needs a Python with PyTorch; no Rust. `kgen report` shows single calls of the runs, which stay in OUT.
set -uo pipefail
kgen=$(realpath "$1") out=$(realpath -m "$2")
cd "$(dirname "$0")/.."
mkdir -p "$out"
for suite in scripts/model_sizes.log huggingface; do
  name=$(basename "$suite" .log)
  "$kgen" run --backend builtin --suite "$suite" --topn 6 --device cuda:0 --baseline aten --no-screen --seeds 1 --seed 1 \
    --output-dir "$out/runs" --run-id "$name" >"$out/$name.txt" 2>&1
  echo "exit $?" >>"$out/$name.txt"
done
