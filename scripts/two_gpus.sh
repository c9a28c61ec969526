#!/bin/sh
# Shows that a run uses several GPUs at once and says which op was judged where.
# usage: scripts/two_gpus.sh [KGEN] [DEVICES]   (default: kgen from PATH, cuda:0,cuda:1)
# Exits with 1 unless every GPU asked for judged something.
set -eu
kgen=${1:-kgen}
devices=${2:-cuda:0,cuda:1}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

run() {
    echo "--- $1: $2"
    start=$(date +%s.%N)
    "$kgen" run --backend builtin --suite smoke --device "$2" --output-dir "$out" --run-id "$1" \
        || echo "exit code $?"
    end=$(date +%s.%N)
    echo "$1: wall time $(echo "$end $start" | awk '{ printf "%.1f", $1 - $2 }') s"
}

"$kgen" list devices
run one_gpu "${devices%%,*}"
run all_gpus "$devices"

echo "--- tests by the GPU that they ran on"
used=$(grep -o '"gpu_uuid": "[^"]*"' "$out/all_gpus/full_results.json" | sort | uniq -c)
echo "$used"
asked=$(echo "$devices" | tr ',' '\n' | wc -l)
[ -n "$used" ] && [ "$(echo "$used" | wc -l)" -eq "$asked" ] || { echo "not every GPU judged something"; exit 1; }
