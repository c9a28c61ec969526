#!/usr/bin/env bash
# The judge on a GPU: its own controls, and every op of the catalogue with its cases.
#   scripts/judge_gpu.sh KGEN OUT
# KGEN: the binary. OUT: the folder for logs. Needs no Rust; needs NVRTC 12.8 or newer. About 5 minutes.
set -uo pipefail
cd "$(dirname "$0")/.."
kgen=$1 out=$2
runs=$(mktemp -d)
trap 'rm -rf "$runs"' EXIT
mkdir -p "$out"
log="$out/judge.log"
: >"$log"

# Runs a command, its output into the log, and notes its exit code and wall time.
step() {
  printf '\n$ %s\n' "${*/#$kgen/kgen}" >>"$log"
  local start=$SECONDS
  timeout "${LIMIT:-280}" "$@" >>"$log" 2>&1
  printf '(exit %s, %s s)\n' "$?" $((SECONDS - start)) >>"$log"
}

step nvidia-smi --query-gpu=name,uuid,driver_version,memory.total --format=csv
LIMIT=420 step "$kgen" selftest --judge --device cuda:0 --controls controls --out "$out"
step "$kgen" run --suite opinfo --backend builtin --device cuda:0 --no-timing --run-id opinfo \
  --output-dir "$runs"
step "$kgen" run --suite smoke --backend builtin --device cuda:0 --run-id smoke --output-dir "$runs"
cp "$runs"/opinfo/full_results.json "$out/opinfo.json" 2>/dev/null
cp "$runs"/opinfo/OVERALL_SUMMARY.txt "$out/opinfo.txt" 2>/dev/null
cat "$log"
