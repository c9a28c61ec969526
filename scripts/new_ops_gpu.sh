#!/usr/bin/env bash
# Some ops of the catalogue on a GPU: their builtin kernels, PyTorch's own under the precision eager, and the golden
# cases by PyTorch's CUDA kernels.
#   scripts/new_ops_gpu.sh KGEN OUT OPS [STEP..]
# KGEN: the binary. OUT: the folder for results. OPS: names with commas. STEP: builtin, aten, golden; all without.
# The variable LIMIT_S holds the seconds that a step may take.
# Needs no Rust; needs a Python with PyTorch and NVRTC 12.8 or newer.
set -uo pipefail
cd "$(dirname "$0")/.."
kgen=$1 out=$2 ops=$3
shift 3
steps=" ${*:-builtin aten golden} "
runs=$(mktemp -d)
trap 'rm -rf "$runs"' EXIT
mkdir -p "$out"
log="$out/new_ops.log"
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader >"$log"

# Runs the suite against a backend; the results of each op are stored as they come.
suite() {
  local limit=$1 backend=$2 start=$SECONDS
  timeout -k 15 "${LIMIT_S:-$limit}" "$kgen" run --suite opinfo --backend "$backend" --device cuda:0 --no-timing --keep-going \
    --run-id "$backend" --output-dir "$runs" --ops "$ops" "${@:3}" >"$runs/said" 2>&1
  printf '%s (exit %s, %s s)\n' "$backend" $? $((SECONDS - start)) >>"$log"
  grep -vE 'passed on cuda|^$' "$runs/said" | tail -n 25 | cut -c1-240 >>"$log"
  grep -E 'ops passed' "$runs/said" >>"$log"
  cp "$runs/$backend/failed_tests.json" "$out/$backend.json" 2>/dev/null
}

[[ $steps == *" builtin "* ]] && suite 330 builtin
[[ $steps == *" aten "* ]] && suite 150 aten --precision eager
[[ $steps == *" golden "* ]] && (cd python && timeout 200 python3 golden_cuda.py >"$out/golden.md" 2>"$runs/said"; tail -n 3 "$runs/said" >>"$log"; tail -n 1 "$out/golden.md" >>"$log")
cat "$log"
