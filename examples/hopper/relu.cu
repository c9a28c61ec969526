// relu through TMA: boxes of a tensor come into shared memory and go back from there, several under way at a
// time. The tensor need not consist of whole boxes: outside of it TMA reads zeros and writes nothing.
/*@plan
x = contiguous(self)
n = x.numel
columns = x.shape[-1] if x.ndim > 0 else 1
rows = n // max(columns, 1)
box_columns = define("COLUMNS", 256 // x.itemsize)
box_rows = define("ROWS", 32)
# The rules of tensor maps, which a plan would otherwise break with an error.
tma = cc >= 90 and n > 0 and x.align >= 16 and columns * x.itemsize % 16 == 0 and max(rows, columns) < 1 << 31
if tma:
    boxes_across = cdiv(columns, box_columns)
    boxes = boxes_across * cdiv(rows, box_rows)
    source = tensor_map(x, box=[box_rows, box_columns], shape=[rows, columns])
    target = tensor_map(out, box=[box_rows, box_columns], shape=[rows, columns])
    launch("relu_tma", grid=min(boxes, 6 * sm_count), block=256, args=[source, target, boxes_across, boxes])
else:
    launch("relu_plain", grid=min(cdiv(n, 256), 16 * sm_count), block=256, args=[x, out, n])
@*/
#include <kg/hopper.cuh>

__device__ __forceinline__ T_self rectified(T_self element) {
    // False for NaN, which therefore stays.
    return kg::to_acc(element) <= 0 ? kg::from_acc<T_self>(kg::acc_t<T_self>(0)) : element;
}

extern "C" __global__ void relu_plain(const T_self* __restrict__ x, T_out* __restrict__ out, long long n) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
        out[i] = rectified(x[i]);
    }
}

#if __CUDA_ARCH__ >= 900

constexpr int STAGES = 4;

extern "C" __global__ void __launch_bounds__(256)
relu_tma(const __grid_constant__ CUtensorMap source, const __grid_constant__ CUtensorMap target,
         int boxes_across, int boxes) {
    __shared__ alignas(128) T_self stage[STAGES][ROWS * COLUMNS];
    __shared__ alignas(8) uint64_t full[STAGES];
    const bool leads = threadIdx.x == 0;
    if (leads) {
        for (uint64_t& bar : full) {
            kg::mbarrier_init(&bar, 1);
        }
        kg::fence_mbarrier_init();
    }
    __syncthreads();

    const int step = gridDim.x;
    const int mine = (boxes - static_cast<int>(blockIdx.x) + step - 1) / step;
    // Coordinates of this block's i-th box, innermost first.
    const auto column = [&](int i) { return (static_cast<int>(blockIdx.x) + i * step) % boxes_across * COLUMNS; };
    const auto row = [&](int i) { return (static_cast<int>(blockIdx.x) + i * step) / boxes_across * ROWS; };
    const auto load = [&](int i) {
        uint64_t* bar = &full[i % STAGES];
        // All bytes of a box arrive, those outside of the tensor too.
        kg::mbarrier_arrive_expect_tx(bar, sizeof(stage[0]));
        kg::tma_load(stage[i % STAGES], &source, bar, column(i), row(i));
    };
    for (int i = 0; leads && i < min(STAGES - 1, mine); ++i) {
        load(i);
    }
    for (int i = 0; i < mine; ++i) {
        T_self* box = stage[i % STAGES];
        kg::mbarrier_wait(&full[i % STAGES], i / STAGES % 2);
        for (int at = threadIdx.x; at < ROWS * COLUMNS; at += blockDim.x) {
            box[at] = rectified(box[at]);
        }
        // Each thread's writes are made known to TMA before the barrier, behind which one thread stores.
        kg::fence_async_shared();
        __syncthreads();
        if (leads) {
            kg::tma_store(&target, box, column(i), row(i));
            kg::bulk_commit();
            if (i + STAGES - 1 < mine) {
                // The next box takes the place of the one before, whose store may still read it.
                kg::bulk_wait_read<1>();
                load(i + STAGES - 1);
            }
        }
    }
    if (leads) {
        // Shared memory ends with the block.
        kg::bulk_wait_read<0>();
    }
}

#endif
