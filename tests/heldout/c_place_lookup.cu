/*@plan
@PLAN@
launch("look_up", grid=cdiv(out.numel, 128), block=128, args=[x, ix, out, out.numel, places, inner, extent])
@*/

// out[o, k, in] = x[o, index[k], in]
extern "C" __global__ void look_up(const T_@X@* x, const T_@I@* index, T_out* out, long long count, long long places, long long inner, long long extent) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i >= count) {
        return;
    }
    const long long in = i % inner;
    const long long k = i / inner % places;
    const long long outer = i / inner / places;
    const long long from = index[k];
    const T_@X@ value = x[(outer * extent + from) * inner + in];
    out[i] = value;
}
