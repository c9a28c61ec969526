#!/usr/bin/env bash
# The judge on a GPU: its own controls, the held-out set, attacks on it, every op of the catalogue with its cases, and
# PyTorch as a candidate, as accurate as itself.
#   scripts/judge_gpu.sh KGEN OUT [STEP..]
# KGEN: the binary. OUT: the folder for logs. STEP: smoke, products, attacks, heldout, controls, opinfo, aten_opinfo,
# aten_models; all without. The variable SHEETS chooses held-out sheets by their first letters, such as c.
# Needs no Rust; needs NVRTC 12.8 or newer. Each step has a limit of its own; together at most 25 minutes.
set -uo pipefail
cd "$(dirname "$0")/.."
kgen=$1 out=$2
shift 2
steps=" ${*:-smoke products attacks heldout controls opinfo aten_opinfo aten_models} "
runs=$(mktemp -d)
trap 'rm -rf "$runs"' EXIT
mkdir -p "$out"
log="$out/judge.log"
: >"$log"

# Runs a command for at most so many seconds, its output into the log, with its exit code and time.
step() {
  local limit=$1 start=$SECONDS
  shift
  printf '\n$ %s\n' "${*/#$kgen/kgen}" >>"$log"
  timeout -k 15 "$limit" "$@" >"$runs/output" 2>&1
  local code=$?
  tail -n 60 "$runs/output" | cut -c1-240 >>"$log"
  printf '(exit %s, %s s)\n' "$code" $((SECONDS - start)) >>"$log"
}

wants() { [[ $steps == *" $1 "* ]]; }

# Runs a suite against a backend without timing it.
suite() {
  step "$1" "$kgen" run --suite "$2" --backend "$3" --device cuda:0 --no-timing --run-id "$2-$3" \
    --output-dir "$runs" "${@:4}"
  cp "$runs/$2-$3/failed_tests.json" "$out/$2-$3.json" 2>/dev/null
}

step 20 nvidia-smi --query-gpu=name,uuid,driver_version,memory.total --format=csv
wants smoke && step 120 "$kgen" run --suite smoke --backend builtin --device cuda:0 --run-id smoke --output-dir "$runs"
if wants products; then
  step 60 "$kgen" run --suite huggingface --backend cublas --ops mm --topn 2 --dtypes bf16 --device cuda:0 --no-timing \
    --run-id products --output-dir "$runs"
  step 30 "$kgen" run --suite huggingface --backend aten --ops embedding --topn 2 --dtypes bf16 --device cuda:0 --no-timing \
    --run-id embedding --output-dir "$runs"
fi
if wants attacks; then
  step 200 "$kgen" -v selftest --judge --device cuda:0 --controls tests/attacks --out "$runs/attacks"
  cp "$runs/attacks/judge.json" "$out/attacks.json" 2>/dev/null
fi
if wants heldout; then
  # Nothing is timed there, so that several processes can share the GPU. A sheet is judged as a whole.
  mkdir -p "$runs/heldout"
  judge_sheet() {
    local start=$SECONDS
    timeout 300 "$1" selftest --judge --device cuda:0 --jobs 4 --controls tests/heldout --only "$3/" --out "$2/$3" >"$2/$3.log" 2>&1
    printf '%s (exit %s, %s s): %s\n' "$3" $? $((SECONDS - start)) "$(grep -E '^[0-9]+ (controls|variants) ' "$2/$3.log" | tr '\n' ' ')" >>"$2/sheets.log"
  }
  export -f judge_sheet
  sheets=(tests/heldout/${SHEETS:-[abc]}_*.toml)
  timeout 480 xargs -P 3 -I{} bash -c 'judge_sheet "$@"' _ "$kgen" "$runs/heldout" {} < <(basename -s .toml "${sheets[@]}") &
  # What is there by now survives a machine that is taken away.
  while kill -0 $! 2>/dev/null; do
    sleep 20
    tar czf "$out/heldout.tgz" -C "$runs" heldout
  done
  printf '\n' >>"$log"
  cat "$runs/heldout/sheets.log" >>"$log"
  tar czf "$out/heldout.tgz" -C "$runs" heldout
fi
wants controls && step 480 "$kgen" selftest --judge --device cuda:0 --controls controls --out "$out"
wants opinfo && suite 400 opinfo builtin
wants aten_opinfo && suite 240 opinfo aten --precision eager --keep-going
wants aten_models && suite 240 huggingface aten --precision eager --keep-going
cat "$log"
