#!/usr/bin/env bash
# `kgen bench memory` on a GPU: all tests once, every format, and at 1 GiB the same copies and a read by PyTorch beside it.
#   scripts/memory_gpu.sh KGEN OUT
# KGEN: the binary. OUT: the folder for results. Needs no Rust; needs NVRTC 12.8 or newer and a Python with PyTorch. Two
# minutes on an H200.
set -uo pipefail
kgen=$(realpath "$1") out=$(realpath -m "$2")
cd "$(dirname "$0")/.."
mkdir -p "$out"
exec > >(tee "$out/memory.log") 2>&1
nvidia-smi --query-gpu=index,name,driver_version --format=csv,noheader
failed=0

began=$SECONDS
"$kgen" bench memory --format json --output "$out/memory.json" || failed=1
echo "all tests: exit $failed, $((SECONDS - began)) s"
for format in table csv html; do
  "$kgen" bench memory --max 16MiB --only h2d_pinned,copy,latency,alloc,vector --format $format --output "$out/memory.$format" ||
    failed=1
done
cat "$out/memory.table"
head -4 "$out/memory.csv"
"$kgen" bench memory --device emu >/dev/null 2>"$out/emu.err"
echo "on the emulator: exit $?, asked: 5"

python3 - "$out/memory.json" <<'PY' || failed=1
import json, statistics, sys
import torch

data = json.load(open(sys.argv[1]))["data"]
for summary in data["summary"]:
    print({name: value for name, value in summary.items() if value is not None})
for left_out in data["left_out"]:
    print("left out:", left_out)
for row in data["rows"]:
    if row["test"] in ("stride", "offset", "vector") or row["test"].startswith("nvbandwidth:"):
        print(row["test"], row["parameter"], row["time_us"], row["gbps"])

N = 1 << 30
host = torch.empty(N, dtype=torch.uint8, pin_memory=True).fill_(90)
a, b = (torch.empty(N, dtype=torch.uint8, device="cuda").fill_(90) for _ in range(2))
floats = a.view(torch.float32)
calls = {
    "h2d_pinned": (1, lambda: a.copy_(host, non_blocking=True)),
    "d2h_pinned": (1, lambda: host.copy_(a, non_blocking=True)),
    "d2d": (2, lambda: b.copy_(a)),
    "read": (1, lambda: floats.sum()),
}

def median_us(call, n_samples=21):
    for _ in range(3):
        call()
    pairs = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(n_samples)]
    for begin, end in pairs:
        begin.record()
        call()
        end.record()
    torch.cuda.synchronize()
    return statistics.median(begin.elapsed_time(end) * 1e3 for begin, end in pairs)

rows = {row["test"]: row for row in data["rows"] if row["bytes"] == N}
bad = False
for test, (traffic, call) in calls.items():
    theirs = traffic * N / median_us(call) / 1e3
    ours = rows[test]["gbps"]
    ratio = ours / theirs
    bad |= not 0.97 <= ratio <= 1.03
    print(f"{test} at 1 GiB: kgen {ours:.1f} GB/s, PyTorch {theirs:.1f} GB/s, ratio {ratio:.3f} (asked: 0.97 to 1.03)")
sys.exit(bad)
PY
exit $failed
