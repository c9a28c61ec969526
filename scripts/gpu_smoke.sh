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

# Every control on both devices: the verdicts must agree, but that the emulator may be stricter.
verdict() {
  timeout 120 "$kgen" eval "$1" --op "$2" --device "$3" --dtypes f32 --no-screen --no-timing \
    --format json -q 2>/dev/null |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["verdict"])' 2>/dev/null || echo error
}
control() {
  local op expected
  op=$(sed -n '1s/.*op: *\([a-z_0-9]*\).*/\1/p' "$1")
  expected=$(sed -n '1s/.*expect: *\([a-z_|]*\).*/\1/p' "$1")
  printf '%-7s %-30s %-19s %-40s %-14s %s\n' "$(basename "$(dirname "$1")")" \
    "$(basename "$1" .cu)" "$op" "${expected:-passed}" "$(verdict "$1" "$op" emu)" \
    "$(verdict "$1" "$op" cuda:0)"
}
export -f verdict control
export kgen
printf '\n%-7s %-30s %-19s %-40s %-14s %s\n' kind control op expected emu cuda >>"$log"
printf '%s\n' tests/it/controls/*/*.cu | xargs -P 4 -I{} bash -c 'control {}' | sort >>"$log"
tar -C "$runs" -czf "$out/runs.tar.gz" .
rm -rf "$runs"
cat "$log"
