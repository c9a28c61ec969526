/*@plan
@PLAN@
launch("tensor", grid=b * cdiv(m, 16) * cdiv(n, 16), block=32, args=[a, w, c, out, b, m, n, k, tw, al, be])
@*/
#include <mma.h>

// alpha * product + beta * c; what has the factor 0 is not looked at.
__device__ float finish(float sum, const T_@C@* c, long long i, long long k, float alpha, float beta) {
    const bool adds = c != nullptr && beta != 0;
    const float added = adds ? beta * kg::to_float(c[i]) : 0.0f;
    if (alpha == 0 || k == 0) {
        return added;
    }
    return adds ? fmaf(alpha, sum, added) : alpha * sum;
}

// A warp per 16 by 16 outputs on the tensor cores, accumulators in f32.
extern "C" __global__ void tensor(const T_@A@* a, const T_@W@* w, const T_@C@* c, T_out* out,
        long long batch, long long m, long long n, long long k, int tw, float alpha, float beta) {
    using namespace nvcuda;
    __shared__ __align__(128) T_@A@ as[256];
    __shared__ __align__(128) T_@W@ ws[256];
    __shared__ __align__(128) float sums[256];
    const long long across = (n + 15) / 16;
    const long long down = (m + 15) / 16;
    const long long z = blockIdx.x / (across * down);
    const long long row0 = blockIdx.x / across % down * 16;
    const long long col0 = blockIdx.x % across * 16;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (long long k0 = 0; k0 < k; k0 += 16) {
        for (int t = threadIdx.x; t < 256; t += 32) {
            const long long row = row0 + t / 16, al = k0 + t % 16;
            const long long wl = k0 + t / 16, col = col0 + t % 16;
            as[t] = row < m && al < k ? a[(z * m + row) * k + al] : kg::from_float<T_@A@>(0.0f);
            ws[t] = wl < k && col < n ? w[z * k * n + (tw ? col * k + wl : wl * n + col)] : kg::from_float<T_@W@>(0.0f);
        }
        __syncwarp();
        wmma::fragment<wmma::matrix_a, 16, 16, 16, T_@A@, wmma::row_major> left;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, T_@W@, wmma::row_major> right;
        wmma::load_matrix_sync(left, as, 16);
        wmma::load_matrix_sync(right, ws, 16);
        wmma::mma_sync(sum, left, right, sum);
        __syncwarp();
    }
    wmma::store_matrix_sync(sums, sum, 16, wmma::mem_row_major);
    __syncwarp();
    for (int t = threadIdx.x; t < 256; t += 32) {
        const long long row = row0 + t / 16, col = col0 + t % 16;
        if (row < m && col < n) {
            const long long i = (z * m + row) * n + col;
            out[i] = kg::from_float<T_out>(finish(sums[t], c, i, k, alpha, beta));
        }
    }
}
