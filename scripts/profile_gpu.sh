#!/usr/bin/env bash
# `kgen profile -- COMMAND` on a GPU, with the profilers that the machine has.
#   scripts/profile_gpu.sh KGEN OUT [PYTHON]
# KGEN: the binary. OUT: the folder for raw reports and summaries. PYTHON: one with PyTorch [default: python3]; no Rust.
# Each `exit` of exits.txt must be 0, or 5 with a way out in NAME.err where a tool is missing or not permitted. Then the same
# reports are read again with --read, whose summaries must differ in their first line alone.
set -uo pipefail
kgen=$(realpath "$1") out=$(realpath -m "$2") python=${3:-python3}
mkdir -p "$out"
cat >"$out/program.py" <<'PY'
import torch

x = torch.randn(4096, 4096, device="cuda")
w = torch.randn(4096, 4096, device="cuda", requires_grad=True)
side = torch.cuda.Stream()
pinned = torch.empty(64 << 20, dtype=torch.uint8, pin_memory=True)
pageable = torch.empty(64 << 20, dtype=torch.uint8)
for step in range(8):
    loss = torch.softmax(x @ w, -1).square().sum()
    loss.backward()
    with torch.cuda.stream(side):
        pinned.cuda(non_blocking=True)
    pageable.cuda()
    for _ in range(50):
        w.grad.mul_(0.5)
    w.grad.zero_()
    print("step", step, loss.item(), flush=True)
PY
profile() { # NAME FLAGS..
  local name=$1
  shift
  "$kgen" profile --out "$out/$name" "$@" >"$out/$name.txt" 2>"$out/$name.err"
  echo "$name exit $?, $(wc -l <"$out/$name.txt") lines" >>"$out/exits.txt"
}
profile default -- "$python" "$out/program.py"
profile nsys --tool nsys -- "$python" "$out/program.py"
profile ncu --tool ncu --max-time 120s -- "$python" "$out/program.py"
profile torch --tool torch -- "$python" "$out/program.py"
profile perf --tool perf -- "$python" "$out/program.py"
profile torch_ended --tool torch --max-time 20s -- "$python" -c 'import torch
while True: torch.ones(1 << 20, device="cuda").sum().item()'
profile nsys_ended --tool nsys --max-time 20s -- "$python" -c 'import torch
while True: torch.ones(1 << 20, device="cuda").sum().item()'
"$kgen" profile --tool torch --out "$out/json" --format json -- "$python" "$out/program.py" >"$out/json.txt" 2>"$out/json.err"
echo "json exit $?" >>"$out/exits.txt"
for raw in nsys/report.sqlite nsys/report.nsys-rep ncu/report.ncu-rep ncu/raw.csv torch/trace.json.gz perf/perf.data; do
  [ -e "$out/$raw" ] || continue
  name=read_$(basename "$raw" | tr . _)
  "$kgen" profile --read "$out/$raw" >"$out/$name.txt" 2>"$out/$name.err"
  echo "$name exit $?" >>"$out/exits.txt"
done
# Large raw reports stay on the machine.
find "$out" -type f -size +20M -delete
cat "$out/exits.txt"
