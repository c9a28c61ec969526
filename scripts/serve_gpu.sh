#!/usr/bin/env bash
# `kgen serve` on a GPU, within 240 s: how long evaluations take that are judged and timed, one at a time and 40 at once.
#   scripts/serve_gpu.sh KGEN OUT [DEVICE]
# KGEN: the binary. OUT: the folder for results, which are there from the first evaluation on: a report for each part, and
# summary.txt. DEVICE: cuda:0 by default; with emu the same is judged there, and not timed. Parts, each with a server:
#   small     one at a time: two ops of one's own at 1 Mi elements, without a baseline
#   together  40 distinct kernels at once, of the catalogue, as `largest`
#   largest   one at a time: the suite smoke, of which the largest size of each op is timed, against kgen's own kernels
#   screen    as `largest`, timed with --timing screen
#   full      one at a time: the suite smoke, all its sizes timed, against kgen's own kernels
#   aten      as `largest`, against PyTorch, where there is one
set -uo pipefail
kgen=$(realpath "$1") out=$(realpath -m "$2") device=${3:-cuda:0}
cd "$(dirname "$0")/.."
mkdir -p "$out"
# Six seconds are for a server that does not end, or does not answer.
part() {
  timeout -k 2 $(($2 + 4)) python3 scripts/serve_latency.py "$kgen" "$out" "$1" "$2" "$3" "$4" -- --device "$device" "${@:5}" \
    2>&1 | tee -a "$out/summary.txt"
}
part small 30 alone small
part together 60 together catalogue --suite smoke --topn 1 --baseline builtin
part largest 25 alone catalogue --suite smoke --topn 1 --baseline builtin
part screen 30 alone catalogue --suite smoke --topn 1 --baseline builtin --timing screen
part full 25 alone catalogue --suite smoke --baseline builtin
if python3 -c 'import torch' 2>/dev/null; then
  part aten 25 alone catalogue --suite smoke --topn 1 --baseline aten
fi
