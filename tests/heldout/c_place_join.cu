/*@plan
r = out.ndim
axis = dim + r if dim < 0 else dim
inner = 1
for d in range(axis + 1, r):
    inner *= out.shape[d]
wide = out.shape[axis]
at = 0
for t in tensors:
    @SKIP@
    if t.numel > 0:
        x = contiguous(t)
        kind = 0 if t.dtype == out.dtype else (1 if t.dtype == "f32" else (2 if t.dtype == "f16" else (3 if t.dtype == "bf16" else (4 if t.dtype == "i64" else (5 if t.dtype == "i32" else 6)))))
        len_ = @LEN@
        launch("part", grid=cdiv(t.numel, 128), block=128, args=[ptr(x, 0), out, t.numel, kind, len_, inner, wide, at])
        at += len_
@*/
#include <cuda_fp16.h>
#include <cuda_bf16.h>

// One tensor's elements at their places.
extern "C" __global__ void part(const void* x, T_out* out, long long count, int kind, long long len, long long inner, long long wide, long long at) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i >= count) {
        return;
    }
    const long long in = i % inner;
    const long long k = i / inner % len;
    const long long outer = i / inner / len;
    T_out value;
    switch (kind) {
        case 0: value = static_cast<const T_out*>(x)[i]; break;
        case 1: value = kg::from_float<T_out>(static_cast<const float*>(x)[i]); break;
        case 2: value = kg::from_float<T_out>(kg::to_float(static_cast<const __half*>(x)[i])); break;
        case 3: value = kg::from_float<T_out>(kg::to_float(static_cast<const __nv_bfloat16*>(x)[i])); break;
        case 4: value = kg::from_acc<T_out>(static_cast<kg::acc_t<T_out>>(static_cast<const long long*>(x)[i])); break;
        case 5: value = kg::from_acc<T_out>(static_cast<kg::acc_t<T_out>>(static_cast<const int*>(x)[i])); break;
        default: value = kg::from_float<T_out>(static_cast<const unsigned char*>(x)[i] != 0 ? 1.0f : 0.0f); break;
    }
    out[(outer * wide + at + k) * inner + in] = value;
}
