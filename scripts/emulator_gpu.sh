#!/usr/bin/env bash
# Runs everything that shows on a GPU how good the emulator is, in under 9 minutes:
#   scripts/emulator_gpu.sh EMU_CHECK OUT [KERNELS]
# EMU_CHECK: the binary of `cargo build --release -p kgen-emu-check`; kgen itself is not needed.
# KERNELS: names, with commas, of those whose mutants are run; without, all.
# OUT: the folder for agreement.json and mutants.json (what `emu-check` found),
# sanitizer.json and sanitizer.log.gz (what compute-sanitizer found in the mutants), batteries.tar.gz
# (single instructions) and emulator.log. Needs no Rust; needs NVRTC 12.8 or newer and python3.
set -uo pipefail
cd "$(dirname "$0")/.."
emu_check=$(realpath "$1") out=$2 kernels=${3:-}
mkdir -p "$out"
out=$(realpath "$out")
log="$out/emulator.log"
: >"$log"

# Runs a command for at most so many seconds, its output into the log, and notes how it ended.
step() {
  local limit=$1 start=$SECONDS
  shift
  printf '\n$ %s\n' "${*/#$emu_check/emu-check}" >>"$log"
  timeout -k 5 "$limit" "$@" >>"$log" 2>&1
  printf '(exit %s, %s s)\n' "$?" $((SECONDS - start)) >>"$log"
}

step 20 nvidia-smi --query-gpu=name,uuid,driver_version --format=csv
step 100 "$emu_check" agreement "$out"
step 180 "$emu_check" mutants "$out" ${kernels:+--kernels "$kernels"}

batteries=$(mktemp -d)
for battery in crates/ptx-emu/tests/ptx/*.py; do
  step 60 python3 "$battery" "$batteries/$(basename "$battery" .py).txt"
done
tar -C "$batteries" -czf "$out/batteries.tar.gz" .
rm -rf "$batteries"

# What is left of 9 minutes, less what the last mutants take.
step 300 python3 scripts/sanitize_mutants.py "$emu_check" "$out" $((500 - SECONDS))
cat "$log"
