#!/usr/bin/env bash
# Builds a wheel, installs it into a fresh environment and judges two kernels with it on the emulator.
# Needs Rust, Python 3.10 or newer and pip; the profile is dev unless one is named: scripts/wheel_test.sh [PROFILE]
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 -m venv "$work/build"
"$work/build/bin/pip" install -q 'maturin>=1.9,<2'
(cd python/package && "$work/build/bin/maturin" build --locked --profile "${1:-dev}" --out "$work/wheels")

python3 -m venv "$work/fresh"
"$work/fresh/bin/pip" install -q "$work"/wheels/kgen-*.whl
cp generated_kernels/evaluation_only/relu/relu.cu "$work/"
cd "$work"
env -u KGEN_BIN PATH=/usr/bin:/bin fresh/bin/python - <<'PY'
import pathlib
import kgen

program = pathlib.Path(kgen.find_kgen_bin())
assert program.parent == pathlib.Path("fresh/bin").resolve(), program
right = pathlib.Path("relu.cu").read_text()
assert kgen.evaluate(right, op="relu", dtypes=["f32"]).correct
wrong = kgen.evaluate(right.replace("value <= 0.0f", "value <= 1.0f"), op="relu", dtypes=["f32"])
assert (wrong.compiled, wrong.correct) == (True, False), wrong
print(f"{program}: a right relu passes, a wrong one is {wrong.verdict}")
PY
