#!/usr/bin/env bash
# Measures what kgen costs, beside the bounds it is to keep, and prints a page in Markdown:
#   scripts/figures.sh [--build] [KGEN] >docs/measurements/DATE-figures.md
# KGEN: the release binary, target/release/kgen by default. --build: also times a clean release
# build, of which KGEN is the result. Needs NVRTC where kgen finds it (`kgen setup`, KGEN_NVRTC),
# python3 and cargo. Meant for a machine that does nothing else; takes some minutes.
# OPS: ops in flight, 500 by default. PROFILE: that of the measuring program, release by default.
set -euo pipefail
cd "$(dirname "$0")/.."
build=
if [ "${1:-}" = --build ]; then
  build=1
  shift
fi
kgen=${1:-target/release/kgen}
ops=${OPS:-500}
profile=${PROFILE:-release}

scratch=$(mktemp -d)
server=
cleanup() {
  if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi
  rm -rf "$scratch"
}
trap cleanup EXIT

row() { printf '| %s | %s | %s | %s |\n' "$@"; }
now() { date +%s.%N; }
since() { python3 -c 'import sys, time; print(f"{time.time() - float(sys.argv[1]):.2f}")' "$1"; }

# What every measured program gets: no key, no settings, and a cache that holds NVRTC, if it is in
# the user's, but nothing that was compiled.
fresh() {
  local cache
  cache=$(mktemp -d -p "$scratch")
  local users=${KGEN_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/kgen}
  for nvrtc in "$users"/nvrtc-*; do
    if [ -d "$nvrtc" ]; then ln -s "$(realpath "$nvrtc")" "$cache/"; fi
  done
  environment=(env -i "PATH=$PATH" "HOME=$HOME" "KGEN_CACHE_DIR=$cache" KGEN_OFFLINE=1)
  for name in KGEN_NVRTC CUDA_HOME CUDA_PATH VIRTUAL_ENV CONDA_PREFIX LD_LIBRARY_PATH; do
    if [ -n "${!name:-}" ]; then environment+=("$name=${!name}"); fi
  done
}

cargo fetch --locked --quiet
if [ -n "$build" ]; then
  start=$(now)
  CARGO_TARGET_DIR=$scratch/target cargo build --release --locked --offline --quiet --bin kgen >&2
  build_s=$(since "$start")
  kgen=$scratch/target/release/kgen
fi
kgen=$(realpath "$kgen")
cargo build --locked --offline --quiet --profile "$profile" --example figures >&2
folder=$profile
if [ "$profile" = dev ]; then folder=debug; fi
figures=$(realpath "${CARGO_TARGET_DIR:-target}/$folder/examples/figures")

cat <<END
# What kgen costs

Taken by \`scripts/figures.sh\` on $(date -u +%Y-%m-%d):

- $("$kgen" --version), commit $(git describe --always --dirty 2>/dev/null || echo unknown)
- $(nproc) cores of $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(uname -s)
- load average at the beginning: $(cut -d' ' -f1 /proc/loadavg)
- profile of the measuring program (\`examples/figures.rs\`): $profile

| figure | bound | measured | how |
|---|---|---|---|
END

# 1. The first run of docs/use.md.
walls=()
codes=()
for _ in 1 2 3; do
  fresh
  folder=$(mktemp -d -p "$scratch")
  start=$(now)
  code=0
  (cd "$folder" && "${environment[@]}" "$kgen" generate --ops relu,add --max-attempts 5 \
    >"$scratch/first.log" 2>&1) || code=$?
  walls+=("$(since "$start")")
  codes+=("$code")
done
command='`kgen generate --ops relu,add --max-attempts 5`'
if [ "${codes[*]}" = '0 0 0' ]; then
  worst=$(printf '%s\n' "${walls[@]}" | sort -g | tail -1)
  row "$command" '6 s' "$worst s" \
    "wall time, worst of three (${walls[*]} s), each in an empty folder with an empty compile cache, NVRTC present, no key"
else
  row "$command" '6 s' 'not measured' "it failed: exit codes ${codes[*]}"
  cat "$scratch/first.log" >&2
fi

# 2. One evaluation.
fresh
"${environment[@]}" "$figures" evaluation "$kgen"

# 3 and 4. The parent with many ops in flight.
fresh
python3 scripts/llm_server.py suites/baselines/relu.cu 1 >"$scratch/url" &
server=$!
until [ -s "$scratch/url" ]; do
  kill -0 "$server"
  sleep 0.1
done
(cd "$scratch" && "${environment[@]}" "$figures" flight "$kgen" "$(cat "$scratch/url")" "$ops")

# 5. The build.
if [ -n "$build" ]; then
  row 'clean release build' '5 min' "$build_s s" \
    '`cargo build --release --locked --offline` into an empty target folder, crates downloaded before'
else
  row 'clean release build' '5 min' 'not measured' 'asked for with `--build`'
fi
cp "$kgen" "$scratch/stripped"
how="the file"
if command -v strip >/dev/null && strip "$scratch/stripped"; then how="the file after \`strip\`"; fi
bytes=$(stat -c %s "$scratch/stripped")
row 'stripped binary' '30 MB' "$(python3 -c "print(f'{$bytes / 1e6:.1f} MB')")" "$how"
