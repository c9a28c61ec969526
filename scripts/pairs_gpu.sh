#!/usr/bin/env bash
# Autograd pairs on a GPU: builtin kernels of ops and of their gradients, exported together and compared with eager
# PyTorch, values and gradients.
#   scripts/pairs_gpu.sh KGEN OUT
# KGEN: the binary. OUT: the folder for pairs.log. The variable DTYPES limits the element types; PAIRS holds others
# than all pairs, OP:GRADIENT.
# Needs no Rust; needs a Python with PyTorch and NVRTC 12.8 or newer.
set -uo pipefail
cd "$(dirname "$0")/.."
kgen=$(realpath "$1") out=$2
mkdir -p "$out"
runs=$(mktemp -d)
trap 'rm -rf "$runs"' EXIT
log=$(realpath "$out")/pairs.log
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader >"$log"

pairs="${PAIRS:-gelu:gelu_backward elu:elu_backward hardsigmoid:hardsigmoid_backward hardswish:hardswish_backward
hardtanh:hardtanh_backward leaky_relu:leaky_relu_backward mish:mish_backward silu:silu_backward softplus:softplus_backward
relu:threshold_backward threshold:threshold_backward sigmoid:sigmoid_backward tanh:tanh_backward
softshrink:softshrink_backward logit:logit_backward glu:glu_backward huber_loss:huber_loss_backward
smooth_l1_loss:smooth_l1_loss_backward binary_cross_entropy:binary_cross_entropy_backward nll_loss:nll_loss_backward
softmax:softmax_backward_data log_softmax:log_softmax_backward_data mse_loss:mse_loss_backward
native_layer_norm:native_layer_norm_backward native_group_norm:native_group_norm_backward conv2d:convolution_backward
avg_pool2d:avg_pool2d_backward embedding:embedding_dense_backward select:select_backward slice:slice_backward}"
ops=$(tr ': \n' ',,,' <<<"$pairs" | tr ',' '\n' | sort -u | paste -sd,)
"$kgen" run --suite opinfo --backend builtin --device cuda:0 --no-timing --run-id pairs --output-dir "$runs" \
  --dtypes "${DTYPES:-f32,f16,bf16}" --ops "$ops" 2>&1 | tail -n 3 >>"$log"
cd "$runs"

# Four at once: each compiles, and waits for Python to start.
check() {
  local op=${1%%:*}
  "$kgen" export "$runs/pairs" --op "$op" --to torch --backward -o "$runs/pair_$op.py" >"$op.said" 2>&1 \
    && timeout 90 python3 "pair_$op.py" >"$op.said" 2>&1 && touch "$op.right"
  { grep -E "WRONG|Error" "$op.said" | head -n 3; tail -n 1 "$op.said"; } >"$op.log"
}
export -f check
export kgen runs
xargs -n 1 -P 4 bash -c 'check "$0"' <<<"$pairs"
cat ./*.log >>"$log"
echo "$(ls ./*.right 2>/dev/null | wc -l) of $(wc -w <<<"$pairs") pairs are as right as eager PyTorch" >>"$log"
tail -n 1 "$log"
