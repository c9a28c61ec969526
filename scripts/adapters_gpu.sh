#!/usr/bin/env bash
# Candle and Burn on a GPU, beside PyTorch and kgen's own kernels: a bench of 9 ops over 4 shapes in f32, f16 and bf16. Needs no
# Rust; needs a Python with PyTorch for CUDA 13, whose packages hold the libraries that the adapters load. Three minutes.
#   [MAX_TIME=150s] scripts/adapters_gpu.sh KGEN ADAPTER_DIR OUT
# KGEN: the binary. ADAPTER_DIR: the folder of kgen-candle and kgen-burn; CUDA's headers for kgen-burn are taken from
# cuda/include in it where that is there, else from Python's packages. OUT: the folder for results.
set -uo pipefail
kgen=$(realpath "$1") adapters=$(realpath "$2") out=$(realpath -m "$3")
cd "$(dirname "$0")/.."
mkdir -p "$out"
site=$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
libraries=$(find -L "$site/nvidia" -maxdepth 3 -type d -name lib 2>/dev/null | paste -sd:)
export LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
if [ -d "$adapters/cuda/include" ]; then
  export CUDA_PATH=$adapters/cuda
else
  export CUDA_PATH=$site/nvidia/cu13
fi
export KGEN_CANDLE=$adapters/kgen-candle KGEN_BURN=$adapters/kgen-burn
{
  nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
  echo "LD_LIBRARY_PATH=$LD_LIBRARY_PATH"
  echo "CUDA_PATH=$CUDA_PATH"
  for program in "$KGEN_CANDLE" "$KGEN_BURN"; do
    # Its greeting, or why there is none; it ends with its input.
    folder=$(mktemp -d)
    echo "$program: $(timeout 60 "$program" --socket "$folder/s" --device cuda:0 </dev/null 2>&1 | tail -n 3)"
    rm -r "$folder"
  done
} >"$out/machine.txt" 2>&1
bench() { # NAME FLAG..
  local name=$1 began status
  shift
  began=$SECONDS
  timeout -k 15 "${LIMIT_S:-170}" "$kgen" bench --device cuda:0 --bench-id "$name" --output-dir "$out/benches" "$@" \
    >"$out/$name.txt" 2>"$out/$name.err"
  status=$?
  echo "$name: exit $status, $((SECONDS - began)) s" | tee -a "$out/times.txt"
}
bench adapters --ops gelu,add,mm,softmax,layer_norm,sum,mse_loss,cross_entropy_loss,embedding --batch 4 --seq 512,2048 --dim 1024,4096 \
  --dtypes f32,f16,bf16 --impl aten,candle,burn,builtin --max-time "${MAX_TIME:-150s}"
rm -f "$out"/benches/*/bench.html
cat "$out/machine.txt" "$out/adapters.txt"
tail -n 20 "$out/adapters.err"
