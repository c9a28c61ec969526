// Gradient of an embedding: rows of `grad` are added to the rows of `table` that `index` names.
extern "C" __global__ void scatter_add(const float* __restrict__ grad, const int* __restrict__ index, float* table, int* count,
                                       int tokens, int dim, int rows) {
    int token = blockIdx.x * blockDim.y + threadIdx.y;
    if (token >= tokens) return;
    int row = index[token];
    if (row < 0 || row >= rows) return;
    for (int d = threadIdx.x; d < dim; d += blockDim.x) {
        atomicAdd(&table[row * dim + d], grad[token * dim + d]);
    }
    if (threadIdx.x == 0) {
        atomicAdd(&count[row], 1);
    }
}
