#!/usr/bin/env bash
# `kgen profile -- COMMAND` on a GPU, with the profilers that the machine has, in less than 3 minutes.
#   scripts/profile_gpu.sh KGEN OUT [PYTHON]
# KGEN: the binary. OUT: the folder for profile.tar.gz, with all raw reports and summaries. PYTHON: one with PyTorch [default: python3];
# no Rust. Each `exit` of exits.txt must be 0, or 5 with a way out in NAME.err where a tool is missing or not permitted. Then the
# same reports are read again with --read, whose summaries must differ in their first line alone.
set -uo pipefail
kgen=$(realpath "$1") out=$(realpath -m "$2") python=${3:-python3}
root=$(realpath "$(dirname "$0")/..") end=$((SECONDS + 165))
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
cat >"$work/program.py" <<'PY'
import torch

x = torch.randn(1024, 1024, device="cuda")
w = torch.randn(1024, 1024, device="cuda", requires_grad=True)
pinned = torch.empty(32 << 20, dtype=torch.uint8, pin_memory=True)
pageable = torch.empty(32 << 20, dtype=torch.uint8)
side = torch.cuda.Stream()
for step in range(20):
    loss = torch.softmax(x @ w, -1).square().sum()
    loss.backward()
    with torch.cuda.stream(side):
        pinned.cuda(non_blocking=True)
    pageable.cuda()
    for _ in range(10):
        w.grad.mul_(0.5)
    w.grad.zero_()
print("loss", loss.item(), flush=True)
PY
kgen_within() { # SECONDS NAME ARGUMENTS..: nothing takes longer than that, or than what is left
  local seconds=$1 name=$2 left=$((end - SECONDS)) began=$SECONDS
  shift 2
  seconds=$((seconds < left ? seconds : left))
  if ((seconds < 5)); then
    echo "$name left out, no time" >>"$work/exits.txt"
    return
  fi
  timeout -k 5 "$seconds" "$kgen" profile "$@" >"$work/$name.txt" 2>"$work/$name.err"
  echo "$name exit $?, $(wc -l <"$work/$name.txt") lines, $((SECONDS - began)) s" >>"$work/exits.txt"
}
profile() { # SECONDS NAME FLAGS..
  local seconds=$1 name=$2
  shift 2
  kgen_within "$seconds" "$name" --out "$work/$name" "$@"
}
profile 40 torch --tool torch -- "$python" "$work/program.py"
profile 40 perf --tool perf --max-time 20s -- "$kgen" eval "$root/generated_kernels/demo/softmax/softmax.cu" --op softmax --device emu
# Each launch is replayed once per pass, and `basic` with the stall reasons has up to 17.
profile 60 ncu --tool ncu --launches 12 --max-time 45s -- "$python" "$work/program.py"
profile 40 nsys --tool nsys -- "$python" "$work/program.py"
profile 30 ended --tool torch --max-time 12s --format json -- "$python" -c 'import torch
while True: torch.ones(1 << 20, device="cuda").sum().item()'
for raw in torch/trace.json.gz perf/perf.data perf/perf.txt perf/stat.csv ncu/report.ncu-rep ncu/raw.csv \
  nsys/report.sqlite nsys/report.nsys-rep; do
  [ -s "$work/$raw" ] || continue
  kgen_within 20 "read_$(tr ./ __ <<<"$raw")" --read "$work/$raw"
done
# Large raw reports stay on the machine.
find "$work" -type f -size +20M -delete
tar -C "$work" -czf "$out/profile.tar.gz" .
cat "$work/exits.txt"
for name in torch perf ncu nsys; do
  printf '\n== %s\n' "$name"
  cat "$work/$name.txt"
  [ -s "$work/$name.txt" ] || tail -3 "$work/$name.err"
done
