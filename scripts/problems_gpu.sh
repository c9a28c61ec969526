#!/usr/bin/env bash
# Imported problems on a GPU: PyTorch's own module as the candidate, judged at the sizes of the file.
#   scripts/problems_gpu.sh KGEN OUT PROBLEMS SUITE..
# KGEN: the binary. OUT: the folder for results. PROBLEMS: the folder that `kgen import` wrote. SUITE: names of its suites.
# The variable LIMIT_S holds the seconds that a suite may take, OPS limits the problems, PRECISION is eager.
# Needs no Rust; needs a Python with PyTorch and NVRTC 12.8 or newer.
set -uo pipefail
kgen=$(realpath "$1") out=$2 problems=$3
shift 3
runs=$(mktemp -d)
trap 'rm -rf "$runs"' EXIT
mkdir -p "$out"
log="$out/problems.log"
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader >"$log"
for suite in "$@"; do
  start=$SECONDS
  timeout -k 15 "${LIMIT_S:-300}" "$kgen" run --suite "$problems/$suite.suite.toml" --backend aten --device cuda:0 --no-timing \
    --keep-going --precision "${PRECISION:-eager}" --run-id "$suite" --output-dir "$runs" ${OPS:+--ops "$OPS"} >"$runs/said" 2>&1
  printf '%s (exit %s, %s s)\n' "$suite" $? $((SECONDS - start)) >>"$log"
  cut -c1-240 "$runs/said" >>"$log"
  cp "$runs/$suite/failed_tests.json" "$out/$suite.failed.json" 2>/dev/null
done
cat "$log"
