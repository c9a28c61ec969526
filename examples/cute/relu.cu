/*@plan
x = contiguous(self)
n = x.numel
launch("relu", grid=cdiv(n, 512), block=128, args=[x, out, n])
@*/
#include <cute/tensor.hpp>

using namespace cute;

// A block's tile: 128 threads with 4 neighbouring elements each.
using BlockTile = Layout<Shape<Int<128>, Int<4>>, Stride<Int<4>, Int<1>>>;

extern "C" __global__ void relu(const T_self* __restrict__ x, T_self* __restrict__ out, long long n) {
    const long long first = blockIdx.x * 512ll;
    auto source = make_tensor(make_gmem_ptr(x + first), BlockTile{})(threadIdx.x, _);
    auto target = make_tensor(make_gmem_ptr(out + first), BlockTile{})(threadIdx.x, _);
    auto inside = [&](int i) { return first + BlockTile{}(threadIdx.x, i) < n; };
    auto held = make_tensor_like<T_self>(source);
    copy_if(inside, source, held);
    transform(held, [](T_self v) { return kg::to_float(v) <= 0.0f ? kg::from_float<T_self>(0.0f) : v; });
    copy_if(inside, held, target);
}
