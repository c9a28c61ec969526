#!/usr/bin/env bash
# Projects of `kgen export --to hf-kernel` on a GPU: their tests, and their benchmarks by the published runner.
#   scripts/hf_gpu.sh KGEN OUT
# KGEN: the binary. OUT: the folder for logs and the benchmarks' results. OPS names others than the ops of the bundled GPU
# session.
# Needs no Rust and no network; needs a Python with PyTorch, pytest, kernels and tabulate. A minute on one GPU.
set -uo pipefail
cd "$(dirname "$0")/.."
kgen=$(realpath "$1") out=$2
mkdir -p "$out"
out=$(realpath "$out")
projects=$(mktemp -d)
trap 'rm -rf "$projects"' EXIT
export HF_HUB_OFFLINE=1
exec > >(tee "$out/hf.log") 2>&1
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
python3 -c 'import importlib.metadata as m; print(*(f"{n} {m.version(n)}" for n in ("torch", "kernels", "pytest")))'

failed=0
ops=${OPS:-relu softmax mm}
for op in $ops; do
  "$kgen" export generated_kernels/demo-gpu --op "$op" --to hf-kernel -o "$projects/$op" || failed=1
done

# Tests compile for each case, and side by side; times are taken one after the other.
running=()
for op in $ops; do
  (cd "$projects/$op" && timeout 60 python3 -m pytest -q -rs -p no:cacheprovider -m kernels_ci tests \
    >"$out/$op.tests.log" 2>&1 && touch "$projects/$op.right") &
  running+=($!)
done
wait "${running[@]}"
for op in $ops; do
  tail -n 3 "$out/$op.tests.log"
  [ -e "$projects/$op.right" ] || failed=1
  # The runner alone: the command around it verifies signatures with packages that are not everywhere.
  (cd "$projects" && timeout 60 python3 -c 'import sys, types
sys.modules["kernels.cli.verify_signature"] = types.ModuleType("none")
sys.modules["kernels.cli.verify_signature"].verify_signature = None
import kernels.cli.benchmark as runner
runner.run_benchmark(sys.argv[1], None, None, iterations=50, warmup=5, output=sys.argv[2])' \
    "./$op" "$out/$op.json") || failed=1
done

# All in one process, by the names that they would have on the Hub.
LOCAL_KERNELS=$(for op in $ops; do printf 'someone/%s=%s\n' "$op" "$projects/$op"; done | paste -sd:)
export LOCAL_KERNELS
# shellcheck disable=SC2086
python3 - $ops <<'PYTHON' || failed=1
import sys
import torch
from kernels import get_kernel

kernels = [get_kernel(f"someone/{op}", version=1, trust_remote_code=True).kernel for op in sys.argv[1:]]
generator = torch.Generator("cuda").manual_seed(0)
said = [kernel._check_case(kernel.CASES[0][1], generator, "cuda") for kernel in kernels]
print("in one process:", *(f"{kernel.NAMESPACE}: {outcome}, {text}" for kernel, (outcome, text) in zip(kernels, said)), sep="\n  ")
raise SystemExit(any(outcome != "ok" for outcome, _ in said))
PYTHON
echo "failed: $failed"
exit "$failed"
