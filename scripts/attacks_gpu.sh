#!/usr/bin/env bash
# Kernels that try to get a verdict or a speed on a GPU that they did not earn, and honest ones that are close to them.
#   scripts/attacks_gpu.sh KGEN OUT
# KGEN: the binary. OUT: the folder for attacks.log and judge.json. Prints a line per kernel (end, why, verdict, speed, time,
# reason) and last `N attacks, M credited; K honest, J refused`. Needs NVRTC and one GPU; takes at most 200 s.
set -uo pipefail
cd "$(dirname "$0")/.."
kgen=$1 out=$2
mkdir -p "$out"
log="$out/attacks.log"
timeout 200 "$kgen" -v selftest --judge --device cuda:0 --controls tests/attacks --out "$out" >"$log" 2>&1
code=$?
cut -c1-320 "$log"

# The only number of a line with this ending, for example `0 false accepts`.
count() { grep -oE "$1" "$log" | head -n 1 | grep -oE '[0-9]+' | head -n 1; }

attacks=$(count '^[0-9]+ controls \(') credited=$(count '[0-9]+ false accepts, [0-9]+ refused')
honest=$(count '^[0-9]+ variants \(') refused=$(count '[0-9]+ false rejects\.')
[[ $code == 124 ]] && echo 'not done within 200 s'
printf '%s attacks, %s credited; %s honest, %s refused\n' "${attacks:-?}" "${credited:-?}" "${honest:-?}" "${refused:-?}"
[[ $code != 124 && ${credited:-1} == 0 && ${refused:-1} == 0 ]]
