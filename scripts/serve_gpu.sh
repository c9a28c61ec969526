#!/usr/bin/env bash
# `kgen serve` on a GPU: latencies of evaluations that are judged and timed, against PyTorch and against kgen's kernels.
#   scripts/serve_gpu.sh KGEN OUT
# KGEN: the binary. OUT: the folder for results: a report per baseline and number of clients.
set -uo pipefail
kgen=$(realpath "$1") out=$(realpath -m "$2")
cd "$(dirname "$0")/.."
run() { timeout 150 scripts/serve_load.py "$kgen" "$out/$1" "$2" "$3" -- --device cuda:0 --baseline "$4" >"$out/$1.txt" 2>&1; }
mkdir -p "$out"
run builtin-1 48 1 builtin
run builtin-8 96 8 builtin
run aten-8 96 8 aten
