#!/usr/bin/env bash
# Makes a wheel, installs it into a fresh environment, and does there what docs/python.md promises, on the emulator.
#   scripts/wheel_test.sh [KGEN]
# KGEN: a built binary for the wheel. Without one maturin builds it, in the profile $PROFILE (dev by default).
# Needs Cargo, Python 3.10 or newer with venv, and a package index.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
step() { printf '%4d s  %s\n' "$SECONDS" "$*"; }

python3 -m venv "$work/build"
"$work/build/bin/pip" install -q 'maturin>=1.9,<2'
if [ $# -gt 0 ]; then
  # maturin asks Cargo for the binary. This Cargo has built it before; the copy is for maturin to move.
  mkdir "$work/built"
  cp "$1" "$work/built/kgen"
  cargo metadata --no-deps --locked --format-version 1 >"$work/metadata.json"
  cat >"$work/cargo" <<SH
#!/usr/bin/env bash
[ "\$1" = rustc ] || exec "$(command -v cargo)" "\$@"
exec python3 - "$work" <<'PY'
import json, sys
work = sys.argv[1]
packages = json.load(open(f"{work}/metadata.json"))["packages"]
package = next(package for package in packages if package["name"] == "kgen")
target = next(target for target in package["targets"] if target["kind"] == ["bin"])
profile = {"opt_level": "3", "debuginfo": 0, "debug_assertions": False, "overflow_checks": False, "test": False}
artifact = {"reason": "compiler-artifact", "package_id": package["id"], "manifest_path": package["manifest_path"]}
artifact |= {"target": target, "profile": profile, "features": [], "fresh": True}
binary = f"{work}/built/kgen"
print(json.dumps(artifact | {"filenames": [binary], "executable": binary}))
print(json.dumps({"reason": "build-finished", "success": True}))
PY
SH
  chmod +x "$work/cargo"
  export CARGO=$work/cargo PATH=$work:$PATH CARGO_TARGET_DIR=$work/target
fi
(cd python/package && "$work/build/bin/maturin" build -q --locked --profile "${PROFILE:-dev}" --out "$work/wheels")
step "$(basename "$work"/wheels/*.whl), $(du -m "$work"/wheels/*.whl | cut -f1) MB"

python3 -m venv "$work/fresh"
"$work/fresh/bin/pip" install -q "$(echo "$work"/wheels/kgen-*.whl)[adapters]" 'uvicorn>=0.30'
cp generated_kernels/evaluation_only/relu/relu.cu "$work/"
cd "$work"
unset KGEN_BIN KGEN_SERVE_URL KGEN_SERVE_TOKEN
export PATH=/usr/bin:/bin
version=$(fresh/bin/kgen --version)
step "installed: $version"

fresh/bin/python - <<'PY'
import pathlib
import kgen

program = pathlib.Path(kgen.find_kgen_bin())
assert program.parent == pathlib.Path("fresh/bin").resolve(), program
right = pathlib.Path("relu.cu").read_text()
sources = [right, right.replace("value <= 0.0f", "value <= 1.0f"), "I give up"]
found = [kgen.evaluate(source, op="relu", dtypes=["f32"], suite="smoke") for source in sources]
assert [(result.compiled, result.correct) for result in found] == [(True, True), (True, False), (False, False)], found
assert [kgen.reward(result) for result in found] == [0.4, 0.1, 0.0], found
assert kgen.extract(f"So:\n```cuda\n{right}```\n") == right
with kgen.Server(device="emu", jobs=2) as server, kgen.Client(server.url, server.token) as client:
    jobs = client.batch([{"op": "relu", "source": source, "suite": "smoke"} for source in sources])
    assert [job.result.correct for job in jobs] == [True, False, False], jobs
PY
step "evaluated: by a private server, and by one of its own"

fresh/bin/uvicorn --factory kgen.adapters.slime:app --port 0 >uvicorn.log 2>&1 &
app=$!
trap 'kill $app 2>/dev/null || true; rm -rf "$work"' EXIT
fresh/bin/python - <<'PY'
import pathlib, re, time
import httpx

end = time.monotonic() + 20
while not (address := re.search(r"running on (\S+)", log := pathlib.Path("uvicorn.log").read_text())):
    assert time.monotonic() < end, log
    time.sleep(0.1)
reply = f"```cuda\n{pathlib.Path('relu.cu').read_text()}```"
answer = httpx.post(address[1], json={"prompt": "", "response": reply, "label": "relu"}, timeout=120)
assert answer.status_code == 200, answer.text
print(answer.json())
PY
kill $app
wait $app || true
step "rewarded: by an adapter's server"
