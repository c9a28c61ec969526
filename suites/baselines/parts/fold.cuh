// Folds slices that lie evenly, several blocks each where slices are few: `fold_final` joins what these found.
// Before this part a file says what it folds and into what:
//     struct Fold: at most 16 bytes, without constructors
//         none(): that of no element
//         add(x, at, step): takes the elements x, in places `at`, `at + step`, .. behind all those taken before
//         join(other): takes those of another
//         of_lane(offset): that of the lane whose number differs by an offset
//     First, Second: the types of the results
//     finish(fold, o, n, count, first, second, option): stores result `o` of `n`, of so many elements
static_assert(sizeof(Fold) <= 16, "the plan asks for 16 bytes each");

// Loads that a thread waits for together.
constexpr int AT_ONCE = 4;
// Elements of a load.
constexpr int WIDE = 16 / sizeof(T_self);

template <int WIDTH>
struct alignas(WIDTH * sizeof(T_self)) Pack {
    T_self at[WIDTH];
};

__device__ __forceinline__ void add_one(Fold& fold, T_self x, long long at) {
    const T_self one[1] = {x};
    fold.add(one, at, 1);
}

// Joins what the threads of a slice found, a warp or all of the block; the first one has the result.
__device__ __forceinline__ Fold join_threads(Fold fold) {
    __shared__ Fold of_warps[8];
    for (int offset = 16; offset > 0; offset /= 2) {
        fold.join(fold.of_lane(offset));
    }
    if (blockDim.x > 32) {
        if (threadIdx.x % 32 == 0) {
            of_warps[threadIdx.x / 32] = fold;
        }
        __syncthreads();
        for (int warp = 1; threadIdx.x == 0 && warp < blockDim.x / 32; ++warp) {
            fold.join(of_warps[warp]);
        }
    }
    return fold;
}

// x is [n, count]; blockIdx.y counts chunks of a row.
extern "C" __global__ void __launch_bounds__(256, 4)
fold_rows(const T_self* __restrict__ x, Fold* __restrict__ partial, First* __restrict__ first,
          Second* __restrict__ second, long long n, long long count, long long chunk, float option) {
    const long long o = static_cast<long long>(blockIdx.x) * blockDim.y + threadIdx.y;
    if (o >= n) {
        return;  // All lanes of the row leave.
    }
    const T_self* row = x + o * count;
    const long long from = blockIdx.y * chunk;
    const long long to = min(from + chunk, count);
    // Elements before and behind the packs, which lie in whole 16 bytes, are fewer than the lanes of a warp.
    const int ahead = -reinterpret_cast<long long>(row + from) & 15;
    const long long head = min(from + ahead / static_cast<int>(sizeof(T_self)), to);
    const long long n_packs = (to - head) / WIDE;
    const Pack<WIDE>* packs = reinterpret_cast<const Pack<WIDE>*>(row + head);
    Fold fold = Fold::none();
    if (from + threadIdx.x < head) {
        add_one(fold, row[from + threadIdx.x], from + threadIdx.x);
    }
    long long i = threadIdx.x;
    for (; i + (AT_ONCE - 1) * blockDim.x < n_packs; i += AT_ONCE * blockDim.x) {
        Pack<WIDE> loaded[AT_ONCE];
#pragma unroll
        for (int p = 0; p < AT_ONCE; ++p) {
            loaded[p] = packs[i + p * blockDim.x];
        }
#pragma unroll
        for (int p = 0; p < AT_ONCE; ++p) {
            fold.add(loaded[p].at, head + (i + p * blockDim.x) * WIDE, 1);
        }
    }
    for (; i < n_packs; i += blockDim.x) {
        const Pack<WIDE> loaded = packs[i];
        fold.add(loaded.at, head + i * WIDE, 1);
    }
    const long long last = head + n_packs * WIDE + threadIdx.x;
    if (last < to) {
        add_one(fold, row[last], last);
    }
    fold = join_threads(fold);
    if (threadIdx.x > 0) {
        return;
    }
    if (partial) {
        partial[o * gridDim.y + blockIdx.y] = fold;
    } else {
        finish(fold, o, n, count, first, second, option);
    }
}

// x is [a, count, b]; 32 packs of neighbouring columns a block, whose eight warps take turns at the rows;
// blockIdx.y counts chunks of these.
template <bool WHOLE>
__global__ void __launch_bounds__(256)
fold_columns(const T_self* __restrict__ x, Fold* __restrict__ partial, First* __restrict__ first,
             Second* __restrict__ second, long long n, long long b, long long count, long long chunk,
             float option) {
    constexpr int WIDTH = WHOLE ? WIDE : 1;
    constexpr int WARPS = 8;
    __shared__ Fold of_warps[WARPS][32];
    const int strips = (b + 32 * WIDTH - 1) / (32 * WIDTH);
    const long long group = blockIdx.x / strips;
    const long long column = (blockIdx.x % strips * 32 + threadIdx.x) * WIDTH;
    const long long to = min((blockIdx.y + 1) * chunk, count);
    const T_self* in = x + group * count * b + column;
    auto load = [&](long long r) { return *reinterpret_cast<const Pack<WIDTH>*>(in + r * b); };
    Fold folds[WIDTH];
#pragma unroll
    for (Fold& fold : folds) {
        fold = Fold::none();
    }
    long long r = column < b ? blockIdx.y * chunk + threadIdx.y : to;
    for (; r + (AT_ONCE - 1) * WARPS < to; r += AT_ONCE * WARPS) {
        Pack<WIDTH> loaded[AT_ONCE];
#pragma unroll
        for (int p = 0; p < AT_ONCE; ++p) {
            loaded[p] = load(r + p * WARPS);
        }
#pragma unroll
        for (int j = 0; j < WIDTH; ++j) {
            T_self of_column[AT_ONCE];
#pragma unroll
            for (int p = 0; p < AT_ONCE; ++p) {
                of_column[p] = loaded[p].at[j];
            }
            folds[j].add(of_column, r, WARPS);
        }
    }
    for (; r < to; r += WARPS) {
        const Pack<WIDTH> loaded = load(r);
#pragma unroll
        for (int j = 0; j < WIDTH; ++j) {
            add_one(folds[j], loaded.at[j], r);
        }
    }
#pragma unroll
    for (int j = 0; j < WIDTH; ++j) {
        __syncthreads();
        of_warps[threadIdx.y][threadIdx.x] = folds[j];
        __syncthreads();
        // A warp joins the j-th column of each pack.
        if (threadIdx.y == j % WARPS && column < b) {
            Fold fold = of_warps[0][threadIdx.x];
            for (int warp = 1; warp < WARPS; ++warp) {
                fold.join(of_warps[warp][threadIdx.x]);
            }
            const long long o = group * b + column + j;
            if (partial) {
                partial[o * gridDim.y + blockIdx.y] = fold;
            } else {
                finish(fold, o, n, count, first, second, option);
            }
        }
    }
}

// The parts of a slice are so far apart.
extern "C" __global__ void __launch_bounds__(256)
fold_final(const Fold* __restrict__ partial, First* __restrict__ first, Second* __restrict__ second,
           long long n, int splits, long long stride, long long count, float option) {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
    const long long o = static_cast<long long>(blockIdx.x) * blockDim.y + threadIdx.y;
    if (o >= n) {
        return;  // All lanes of the slice leave.
    }
    Fold fold = Fold::none();
    for (int i = threadIdx.x; i < splits; i += blockDim.x) {
        fold.join(partial[(o / stride * splits + i) * stride + o % stride]);
    }
    fold = join_threads(fold);
    if (threadIdx.x > 0) {
        return;
    }
    finish(fold, o, n, count, first, second, option);
}
