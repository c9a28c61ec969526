#!/usr/bin/env bash
# Runs everything that only a GPU can show, and writes what it printed into one folder:
#   scripts/gpu_smoke.sh KGEN OUT
# KGEN: the binary. OUT: the folder for logs. Needs no Rust; needs NVRTC 12.8 or newer and python3.
set -uo pipefail
cd "$(dirname "$0")/.."
kgen=$1 out=$2
runs=$(mktemp -d)
mkdir -p "$out"
log="$out/smoke.log"
: >"$log"

# Runs a command, its output into the log, and notes its exit code and wall time.
step() {
  printf '\n$ %s\n' "${*/#$kgen/kgen}" >>"$log"
  local start=$SECONDS
  "$@" >>"$log" 2>&1
  printf '(exit %s, %s s)\n' "$?" $((SECONDS - start)) >>"$log"
}

step nvidia-smi --query-gpu=name,uuid,driver_version,memory.total,clocks.max.sm --format=csv
step "$kgen" doctor
if [ -x "${GPU_TESTS:-}" ]; then
  KGEN_TEST_GPU=1 step "$GPU_TESTS" gpu:: --nocapture
fi
step "$kgen" run --backend builtin --device cuda:0 --run-id gpu_builtin --output-dir "$runs"
step "$kgen" run --backend pregenerated --kernels-dir generated_kernels/evaluation_only \
  --device cuda:0 --run-id gpu_pregenerated --output-dir "$runs"
step "$kgen" generate --device cuda:0 --run-id gpu_demo --output-dir "$runs" --no-timing

step "$kgen" selftest --judge --device cuda:0 --out "$out"
tar -C "$runs" -czf "$out/runs.tar.gz" .
rm -rf "$runs"
cat "$log"
