#!/usr/bin/env bash
# Everything that a measurement report of kgen on a GPU needs, in one call:
#   scripts/measure_gpu.sh KGEN OUT
# KGEN: the release binary. OUT: the folder for logs. THROUGHPUT: the measuring program of
# scripts/throughput.sh, left out where it is not given. Needs no Rust; needs NVRTC 12.8 or newer, a Python
# with PyTorch in VIRTUAL_ENV, and ncu. On a machine with two GPUs the clock proves itself on the second
# while the first does the rest, and at the end both judge together. 4 minutes on two GPUs, 6 on one.
set -uo pipefail
cd "$(dirname "$0")/.."
kgen=$(realpath "$1") out=$2
runs=$(mktemp -d)
trap 'rm -rf "$runs"' EXIT
mkdir -p "$out"
out=$(realpath "$out")

# step LOG COMMAND..: runs a command, its output into a log, and notes its exit code and wall time.
step() {
  local log="$out/$1.log"
  shift
  printf '$ %s\n' "${*//$kgen/kgen}" >>"$log"
  local start=$EPOCHREALTIME
  timeout "${LIMIT:-120}" "$@" >>"$log" 2>&1
  printf '(exit %s, %.1f s)\n\n' "$?" "$(awk "BEGIN { print $EPOCHREALTIME - $start }")" >>"$log"
}

clock() {
  LIMIT=230 step clock "$kgen" selftest --timing --device "cuda:$1" --out "$out"
}

# Suite, op and file of kernels that are judged and timed alone.
evaluate() {
  step evaluate "$kgen" eval "suites/baselines/$1.cu" --op "$1" --device cuda:0 --no-screen "${@:2}"
}

rest() {
  step devices "$kgen" list devices
  if [ -x "${THROUGHPUT:-}" ]; then
    step throughput "$THROUGHPUT" "$kgen" 50
  fi
  step bandwidth scripts/bandwidth.sh "$kgen" "$runs"
  cp "$runs/bandwidth/full_results.json" "$out/bandwidth.json"
  evaluate relu --suite scripts/giant.toml --seeds 5 --baseline builtin --timing standard
  step run "$kgen" run --backend builtin --device cuda:0 --run-id builtin --output-dir "$runs"
  step cublas "$kgen" run --backend cublas --ops mm --device cuda:0 --baseline aten,builtin \
    --run-id cublas --output-dir "$runs"
  step backends "$kgen" run --backend pregenerated --kernels-dir examples/backendbench \
    --device cuda:0 --ops relu,add --run-id backendbench --output-dir "$runs"
  step backends "$kgen" run --backend torch_compile --ops gelu,softmax --dtypes f32 --topn 1 \
    --device cuda:0 --run-id torch_compile --output-dir "$runs"
  step backends "$kgen" run --backend aten --device cuda:0 --no-timing --run-id aten \
    --output-dir "$runs"
  step profile "$kgen" profile suites/baselines/softmax.cu --op softmax --dtypes f32 --device cuda:0
  for op in softmax layer_norm; do
    step export "$kgen" export "$runs/builtin" --op "$op" --to torch -o "$runs/$op.py"
    step export "${VIRTUAL_ENV:-/usr}/bin/python" "$runs/$op.py"
  done
  evaluate relu --dtypes f32 --compat do_bench
}

n_gpus=$(nvidia-smi --list-gpus | wc -l)
step gpus nvidia-smi --query-gpu=index,name,uuid,driver_version,clocks.max.sm --format=csv
if [ "$n_gpus" -ge 2 ]; then
  clock 1 &
  rest
  wait
  LIMIT=90 step two_gpus scripts/two_gpus.sh "$kgen" cuda:0,cuda:1
else
  rest
  clock 0
fi
tail -n 60 "$out"/{devices,throughput,bandwidth,evaluate,run,clock,two_gpus}.log
