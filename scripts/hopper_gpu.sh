#!/usr/bin/env bash
# The kernel files of examples/hopper on an H100 or H200: TMA with ragged edges, a product by TMA and wgmma, the same with
# clusters and multicast; each against PyTorch where a Python has it, and once in graphs.
#   scripts/hopper_gpu.sh KGEN OUT
# KGEN: the binary. OUT: the folder for results. The variable LIMIT_S holds the seconds that an evaluation may take.
# Needs no Rust; needs NVRTC 12.8 or newer. A Python with PyTorch is optional: VIRTUAL_ENV or CONDA_PREFIX names its environment.
set -uo pipefail
kgen=$(realpath "$1") out=$(realpath -m "$2")
cd "$(dirname "$0")/.."
mkdir -p "$out"
log="$out/hopper.log"
nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader >"$log"
baseline=()
python3 -c 'import torch' 2>/dev/null && baseline=(--baseline aten)

# Evaluates a kernel file and keeps text and record.
evaluate() {
  local name=$1 start=$SECONDS
  shift
  timeout -k 15 "${LIMIT_S:-240}" "$kgen" eval "$@" "${baseline[@]}" --device cuda:0 --format json \
    >"$out/$name.json" 2>"$out/$name.err"
  printf '\n%s (exit %s, %s s)\n' "$name" $? $((SECONDS - start)) >>"$log"
  python3 - "$out/$name.json" >>"$log" 2>&1 <<'PY'
import collections, json, sys
e = json.load(open(sys.argv[1]))["data"]
print(e["verdict"], e["level"], [f["message"][:300] for f in e["findings"]])
kinds = collections.Counter(json.dumps(c["outcome"])[:120] for c in e["cases"])
print("  cases:", dict(kinds.most_common(6)))
for case in e["cases"]:
    if case["findings"] or case["mismatch"]:
        print("  ", case["case"], case["worst_ratio"], [f["message"][:200] for f in case["findings"]], str(case["mismatch"])[:300])
print("  worst error over bound:", max((c["worst_ratio"] for c in e["cases"] if isinstance(c["worst_ratio"], (int, float))), default=None))
for t in e["timings"]:
    print("  timed", t["case"], "candidate", round(t["candidate"]["median_us"], 2), "us", t["params"],
          [(b["name"], b["timing"] and round(b["timing"]["median_us"], 2), b["comparison"] and round(b["comparison"]["speedup"], 3), b.get("note")) for b in t["baselines"]])
PY
}

evaluate relu examples/hopper/relu.cu --op relu
evaluate relu.no_screen examples/hopper/relu.cu --op relu --no-screen
for kernel in mm mm_cluster; do
  evaluate "$kernel" examples/hopper/$kernel.cu --op mm
  evaluate "$kernel.no_screen" examples/hopper/$kernel.cu --op mm --dtypes bf16,f16 --no-screen
done
evaluate mm.graph examples/hopper/mm.cu --op mm --dtypes bf16 --no-screen --graph
evaluate mm_cluster.graph examples/hopper/mm_cluster.cu --op mm --dtypes bf16 --no-screen --graph
cat "$log"
