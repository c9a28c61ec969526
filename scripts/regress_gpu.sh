#!/usr/bin/env bash
# False alarms of `kgen regress` and slowdowns that it finds: 200 cases of a kernel against itself with another comment, then
# against one that does 3 % more arithmetic; both by recorded samples, then measured again in alternation. Six minutes.
#   [BATCH=2,3,4] scripts/regress_gpu.sh KGEN OUT
set -uo pipefail
kgen=$(realpath "$1") out=$(realpath -m "$2")
mkdir -p "$out/work"
cd "$out/work" || exit 1
kernel() { # ROUNDS COMMENT
  cat >relu.cu <<CU
/*@plan
launch("relu", grid=cdiv(self.numel, 256), block=256, args=[contiguous(self), out, self.numel])
@*/
// $2
extern "C" __global__ void relu(const T_self* x, T_out* y, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  float z = v;
  // Of both counts of rounds a multiple, so that one more round costs the same in both.
  #pragma unroll 20
  for (int round = 0; round < $1; ++round) z = fmaf(z, 0.999f, 1e-3f);
  // Never so, which the compiler does not know.
  y[i] = z == 123.5f ? z : (v < 0.0f ? 0.0f : v);
}
CU
}
bench() { # ID
  "$kgen" bench --ops relu --batch "${BATCH:-2,3,4,5,6,7,8,9,10,11}" --seq 1024 --dim 1024..1499+25 --impl relu.cu --bench-id "$1" --device cuda:0 -q --history \
    >"$out/$1.txt" 2>"$out/$1.err"
  echo "$1: exit $?"
}
regress() { # NAME NEW OLD FLAGS..
  local name=$1 new=$2 old=$3 began=$SECONDS
  shift 3
  "$kgen" regress "$new" --against "$old" --format json --device cuda:0 "$@" >"$out/$name.json" 2>"$out/$name.err"
  echo "$name: exit $?, $((SECONDS - began)) s"
  python3 -c 'import json, sys; data = json.load(open(sys.argv[1]))["data"]; print(" ", data and data["counts"])' "$out/$name.json"
}
kernel 2000 "the first"
bench first
kernel 2000 "the same with another comment"
bench same
kernel 2060 "3 % more"
bench slower
regress recorded_same same first --recorded
regress recorded_slower slower first --recorded
regress paired_same same first
regress paired_slower slower first
tar czf "$out/benches.tgz" generated_kernels
rm -rf "$out/work"
