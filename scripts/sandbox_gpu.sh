#!/usr/bin/env bash
# The sandbox on a GPU: whether the driver, the Python process and their shared buffers work behind the walls, and what they cost.
#   scripts/sandbox_gpu.sh KGEN OUT
# KGEN: the binary. OUT: the folder for results. Needs a Python with PyTorch for the baseline aten; no Rust.
# Each evaluation must pass with both baselines measured, `sandbox` must be absent from on.json and `off` in off.json.
set -uo pipefail
kgen=$(realpath "$1") out=$(realpath -m "$2")
cd "$(dirname "$0")/.."
mkdir -p "$out"
"$kgen" doctor --device cuda:0 >"$out/doctor.txt" 2>&1
echo "exit $?" >>"$out/doctor.txt"
judge() { # NAME FLAGS..
  local name=$1 began
  shift
  began=$(date +%s%N)
  "$kgen" -v eval suites/baselines/relu.cu --op relu --suite smoke --device cuda:0 --timing standard --baseline builtin,aten --seed 1 \
    --format json "$@" >"$out/$name.json" 2>"$out/$name.err"
  echo "$name exit $? after $((($(date +%s%N) - began) / 1000000)) ms" >>"$out/times.txt"
}
judge warm
for i in 1 2 3; do
  judge on
  judge off --no-sandbox
done
# With the sanctioned gap: programs, sockets and all files.
"$kgen" profile suites/baselines/relu.cu --op relu --suite smoke --device cuda:0 --seed 1 >"$out/profile.txt" 2>&1
echo "exit $?" >>"$out/profile.txt"
python3 - "$out" <<'PY'
import json, sys
for name in ("on", "off"):
    record = json.load(open(f"{sys.argv[1]}/{name}.json"))
    record = record.get("data", record)
    print(name, record["verdict"], "sandbox:", record.get("sandbox", "all held"))
    for timing in record["timings"]:
        others = {b["name"]: (b.get("timing") or {}).get("median_us", b.get("note")) for b in timing["baselines"]}
        print(" ", timing["case"], timing["candidate"]["median_us"], others)
PY
