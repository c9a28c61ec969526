/*@plan
a = contiguous(self)
b = contiguous(mat2)
m = a.shape[0]
k = a.shape[1]
n = b.shape[1]
launch("mm", grid=(cdiv(m, 16), cdiv(n, 8)), block=32, args=[a, b, out, m, n, k])
@*/
#include <cute/tensor.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

using WarpProduct = decltype(make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}));

// A warp makes 16 x 8 elements of the product; elements outside of the factors count as 0.
extern "C" __global__ void mm(const half* __restrict__ a, const half* __restrict__ b, half* __restrict__ out,
                              int m, int n, int k) {
    const auto mine = WarpProduct{}.get_slice(threadIdx.x);
    const auto at_a = mine.partition_A(make_identity_tensor(Shape<_16, _16>{}));
    const auto at_b = mine.partition_B(make_identity_tensor(Shape<_8, _16>{}));
    const auto at_c = mine.partition_C(make_identity_tensor(Shape<_16, _8>{}));
    auto part_a = make_tensor<half_t>(at_a.layout().shape());
    auto part_b = make_tensor<half_t>(at_b.layout().shape());
    auto sum = make_tensor<float>(at_c.layout().shape());
    clear(sum);
    const int row0 = blockIdx.x * 16, column0 = blockIdx.y * 8;
    for (int k0 = 0; k0 < k; k0 += 16) {
        CUTE_UNROLL
        for (int i = 0; i < size(part_a); ++i) {
            const int row = row0 + get<0>(at_a(i)), step = k0 + get<1>(at_a(i));
            part_a(i) = row < m && step < k ? half_t(a[1ll * row * k + step]) : half_t(0.0f);
        }
        CUTE_UNROLL
        for (int i = 0; i < size(part_b); ++i) {
            const int column = column0 + get<0>(at_b(i)), step = k0 + get<1>(at_b(i));
            part_b(i) = column < n && step < k ? half_t(b[1ll * step * n + column]) : half_t(0.0f);
        }
        gemm(WarpProduct{}, part_a, part_b, sum);
    }
    CUTE_UNROLL
    for (int i = 0; i < size(sum); ++i) {
        const int row = row0 + get<0>(at_c(i)), column = column0 + get<1>(at_c(i));
        if (row < m && column < n) {
            out[1ll * row * n + column] = __float2half_rn(sum(i));
        }
    }
}
