#!/usr/bin/env bash
# Kernel files with library steps on a GPU, against PyTorch: examples/libraries under strict and torch_default, and the
# cases of `linear` in f32, f16 and bf16.
#   scripts/libraries_gpu.sh KGEN OUT
# KGEN: the binary. OUT: the folder for results. The variable LIMIT_S holds the seconds that an evaluation may take.
# Needs no Rust; needs NVRTC 12.8 or newer and a Python with PyTorch, with VIRTUAL_ENV or CONDA_PREFIX set to its environment:
# cuBLASLt and cuDNN are found in there.
set -uo pipefail
kgen=$(realpath "$1") out=$(realpath -m "$2")
cd "$(dirname "$0")/.."
mkdir -p "$out"
log="$out/libraries.log"
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader >"$log"

# Evaluates a kernel file and keeps text and record.
evaluate() {
  local name=$1 start=$SECONDS
  shift
  timeout -k 15 "${LIMIT_S:-240}" "$kgen" eval "$@" --libraries --device cuda:0 --baseline aten --format json \
    >"$out/$name.json" 2>"$out/$name.err"
  printf '\n%s (exit %s, %s s)\n' "$name" $? $((SECONDS - start)) >>"$log"
  python3 - "$out/$name.json" >>"$log" 2>&1 <<'PY'
import collections, json, sys
e = json.load(open(sys.argv[1]))["data"]
print(e["verdict"], e["level"], e["precision"], e["library_use"], [f["message"][:200] for f in e["findings"]])
kinds = collections.Counter(json.dumps(c["outcome"])[:120] for c in e["cases"])
print("  cases:", dict(kinds.most_common(6)))
for case in e["cases"]:
    if case["findings"] or case["mismatch"]:
        print("  ", case["case"], case["worst_ratio"], [f["message"][:160] for f in case["findings"]], str(case["mismatch"])[:300])
print("  worst error over bound:", max((c["worst_ratio"] for c in e["cases"] if isinstance(c["worst_ratio"], (int, float))), default=None))
for t in e["timings"]:
    print("  timed", t["case"], "candidate", round(t["candidate"]["median_us"], 2), "us", t["params"],
          [(b["name"], b["timing"] and round(b["timing"]["median_us"], 2), b["comparison"] and round(b["comparison"]["speedup"], 3), b.get("note")) for b in t["baselines"]])
PY
}

for precision in strict torch_default; do
  for op in linear_gelu conv2d_relu; do
    [[ -f examples/libraries/$op.cu ]] || continue
    evaluate "$op.$precision" examples/libraries/$op.cu --op-file examples/libraries/$op.toml --precision $precision
  done
  evaluate "linear.$precision" examples/libraries/linear.cu --op linear --precision $precision
done
evaluate linear.graph examples/libraries/linear.cu --op linear --graph
evaluate linear.no_screen examples/libraries/linear.cu --op linear --no-screen
cat "$log"
