#!/usr/bin/env bash
# Judges and times 50 different candidates of relu, gelu and softmax on GPU 0 and says where the time
# went:
#   scripts/throughput.sh [KGEN] [N] [all]
# KGEN: the release binary, target/release/kgen by default; N: candidates, 50 by default; all: with
# the realistic cases of the suite `smoke` too, not 1024x1024 alone. THROUGHPUT: the measuring program
# where it is built already, target/release/examples/throughput is built otherwise. Needs NVRTC where
# kgen finds it (`kgen setup`, KGEN_NVRTC).
set -euo pipefail
cd "$(dirname "$0")/.."
kgen=${1:-target/release/kgen}
if [ -z "${THROUGHPUT:-}" ]; then
  cargo build --quiet --release --example throughput
  THROUGHPUT=target/release/examples/throughput
fi
"$THROUGHPUT" "$kgen" "${2:-50}" ${3:+"$3"}
