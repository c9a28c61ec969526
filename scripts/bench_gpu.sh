#!/usr/bin/env bash
# Benchmarks on a GPU: a sweep of 4 ops x 64 cases x 4 implementations beside the same sweep with plain calls, libraries,
# energy beside the integral of the power that the driver reports. Ten minutes.
#   [DTYPES=f32,bf16] scripts/bench_gpu.sh KGEN OUT [PART..]
# KGEN: the binary. OUT: the folder for results. PART: sweep, plain, libraries, energy; all without one.
set -uo pipefail
kgen=$(realpath "$1") out=$(realpath -m "$2")
shift 2
parts=${*:-sweep plain libraries energy}
cd "$(dirname "$0")/.."
mkdir -p "$out"
grid=(--ops layer_norm,gelu,silu,mse_loss --batch 1,4,16,32 --seq 256,1024 --dim 768,1024,2048,4096 --dtypes "${DTYPES:-f32,bf16}")
timed() { # NAME COMMAND..
  local name=$1 began status
  shift
  began=$(date +%s%N)
  "$@" >"$out/$name.txt" 2>"$out/$name.err"
  status=$?
  echo "$name: exit $status, $((($(date +%s%N) - began) / 1000000)) ms" | tee -a "$out/times.txt"
}
for part in $parts; do
  case $part in
    sweep)
      timed sweep "$kgen" bench "${grid[@]}" --impl aten,torch_compile,jax,builtin --bench-id sweep --output-dir "$out/benches" \
        --device cuda:0 ;;
    plain)
      timed plain python3 scripts/plain_sweep.py ;;
    libraries)
      timed libraries "$kgen" bench --ops gelu,softmax,layer_norm,mm,add,cross_entropy_loss --batch 4 --seq 512,2048 --dim 1024,4096 \
        --dtypes f32,bf16 --impl aten,torch_compile,jax,cupy,onnxruntime,cublas,builtin --bench-id libraries \
        --output-dir "$out/benches" --device cuda:0 ;;
    energy)
      nvidia-smi --query-gpu=timestamp,power.draw.instant,power.draw.average --format=csv,noheader,nounits --loop-ms=20 >"$out/power.csv" & sampler=$!
      timed energy "$kgen" bench --ops mm,gelu --batch 8 --seq 1024 --dim 4096 --dtypes bf16 --impl aten,builtin --energy 10 \
        --bench-id energy --output-dir "$out/benches" --device cuda:0
      kill "$sampler" ;;
  esac
done
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader >"$out/gpu.txt"
rm -f "$out"/benches/*/bench.html
[ -d "$out/benches" ] && (cd "$out" && tar czf benches.tgz benches && rm -r benches)
