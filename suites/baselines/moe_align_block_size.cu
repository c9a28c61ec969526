// Baseline of moe_align_block_size: one thread counts and places the elements of each expert.
/*@plan
ids = contiguous(topk_ids)
counts = scratch(4 * num_experts)
launch("count", grid=cdiv(num_experts, 128), block=128, args=[ids, counts, ids.numel, num_experts])
launch("place", grid=cdiv(num_experts, 128), block=128,
       args=[ids, counts, out0, out1, out2, ids.numel, num_experts, block_size, out0.numel,
             out1.numel])
@*/

extern "C" __global__ void __launch_bounds__(128)
count(const T_topk_ids* __restrict__ ids, int* __restrict__ counts, int n, int experts) {
    const int expert = blockIdx.x * 128 + threadIdx.x;
    if (expert >= experts) {
        return;
    }
    int found = 0;
    for (int i = 0; i < n; ++i) {
        found += ids[i] == expert;
    }
    counts[expert] = found;
}

// A thread writes the blocks of its expert; the last expert's also the rest.
extern "C" __global__ void __launch_bounds__(128)
place(const T_topk_ids* __restrict__ ids, const int* __restrict__ counts, int* __restrict__ order,
      int* __restrict__ blocks, int* __restrict__ used, int n, int experts, int block, int n_order,
      int n_blocks) {
    const int expert = blockIdx.x * 128 + threadIdx.x;
    if (expert >= experts) {
        return;
    }
    int first = 0;
    for (int before = 0; before < expert; ++before) {
        first += (counts[before] + block - 1) / block;
    }
    int end = first + (counts[expert] + block - 1) / block;
    for (int at = first; at < end; ++at) {
        blocks[at] = expert;
    }
    int to = first * block;
    for (int i = 0; i < n; ++i) {
        if (ids[i] == expert) {
            order[to++] = i;
        }
    }
    const bool last = expert == experts - 1;
    const int until = last ? n_order : end * block;
    for (; to < until; ++to) {
        order[to] = n;
    }
    if (last) {
        used[0] = end * block;
        for (; end < n_blocks; ++end) {
            blocks[end] = -1;
        }
    }
}
