#!/usr/bin/env bash
# A CUDA toolkit of pip's packages, with which kgen-candle can be built where none is installed; prints the variables
# that the build needs. The driver's library is not among the packages: a stand-in with its names takes its place while
# linking.
#   scripts/adapters_toolkit.sh DIR [COMPUTE_CAPABILITY]
# DIR: a new folder. COMPUTE_CAPABILITY: of the GPU, 90 without it.
set -euo pipefail
dir=$(realpath -m "$1")
python3 -m pip install -q --no-deps --target "$dir" \
  nvidia-cuda-nvcc==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-nvvm==13.0.88 nvidia-cuda-runtime==13.0.96 \
  nvidia-cuda-cccl==13.0.85 nvidia-curand==10.4.0.35 nvidia-cublas==13.1.0.3 nvidia-cuda-nvrtc==13.0.88
root=$dir/nvidia/cu13
cd "$root/lib"
for library in libcudart libcurand libcublas libcublasLt libnvrtc; do
  ln -sf "$(ls "$library".so.* | head -n 1)" "$library.so"
done
ln -sfn lib "$root/lib64"
grep -hoE '\bcu[A-Z][A-Za-z0-9_]*' "$root/include/cuda.h" | sort -u | sed 's/.*/void &(void) {}/' |
  gcc -shared -fPIC -w -x c - -Wl,-soname,libcuda.so.1 -o libcuda.so
printf 'export CUDA_HOME=%s PATH=%s/bin:$PATH LIBRARY_PATH=%s/lib CUDA_COMPUTE_CAP=%s\n' "$root" "$root" "$root" "${2:-90}"
