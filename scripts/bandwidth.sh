#!/usr/bin/env bash
# What the builtin baselines reach of the memory bandwidth, and how PyTorch's kernels compare:
#   scripts/bandwidth.sh KGEN OUT
# KGEN: the binary. OUT: the folder for the run. Needs a GPU with 8 GB free and NVRTC 12.8 or newer;
# without a Python that has PyTorch the column of aten stays empty.
set -euo pipefail
cd "$(dirname "$0")/.."
kgen=$1 out=$2
mkdir -p "$out"
"$kgen" list devices
"$kgen" run --backend builtin --suite scripts/bandwidth.toml --device cuda:0 --no-screen \
  --timing standard --baseline aten --run-id bandwidth --output-dir "$out"
