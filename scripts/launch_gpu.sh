#!/usr/bin/env bash
# Workers at the other end of a command, with a GPU there: verdicts and times beside those of workers here, a node that is
# killed, and two kgens that keep each other off a GPU. Half a minute.
#   scripts/launch_gpu.sh KGEN OUT
# KGEN: the binary. OUT: the folder for results. The other side is this machine with an empty home.
set -uo pipefail
kgen=$(realpath "$1") out=$(realpath -m "$2")
cd "$(dirname "$0")/.."
mkdir -p "$out"
away=$(mktemp -d)
trap 'rm -rf "$away"' EXIT
judge() { # NAME FLAGS..
  local name=$1 began
  shift
  began=$(date +%s%N)
  "$kgen" eval suites/baselines/relu.cu --op relu --suite smoke --dtypes f32 --timing standard --baseline builtin,aten --seed 1 \
    --format json --device cuda:0 "$@" >"$out/$name.json" 2>"$out/$name.err"
  echo "$name exit $? after $((($(date +%s%N) - began) / 1000000)) ms" | tee -a "$out/launch.txt"
}
for i in 1 2; do
  judge here
  judge launched --launch "env HOME=$away"
done
# The node is killed two seconds after it said that it is ready.
cat >"$away/lossy" <<SH
#!/bin/sh
if mkdir $away/began 2>/dev/null; then (sleep 4; kill -9 \$\$) & fi
exec "\$@"
SH
chmod +x "$away/lossy"
judge lossy --launch "env HOME=$away $away/lossy"
# Both time the same GPU; the second waits for the first, or says that it could not.
(judge first -v) & first=$!
judge second -v
wait "$first"
python3 - "$out" <<'PY' | tee -a "$out/launch.txt"
import json, sys
for name in ("here", "launched", "lossy", "first", "second"):
    record = json.load(open(f"{sys.argv[1]}/{name}.json"))
    data = record.get("data") or {}
    print(name, data.get("verdict"), record.get("error"), open(f"{sys.argv[1]}/{name}.err").read().strip()[:400])
    for timing in data.get("timings", []):
        others = {b["name"]: (b.get("timing") or {}).get("median_us", b.get("note")) for b in timing["baselines"]}
        print(" ", timing["case"], timing["candidate"]["median_us"], others)
PY
