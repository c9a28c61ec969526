"""Two ops of one's own at 1 Mi elements, with right kernels: members of a request and the source, by name."""

CASES = """
[[cases]]
m = 1
n = 1

[[cases]]
m = 0
n = 7

[[cases]]
m = 3
n = 1023
distributions = ["normal", "specials", "large"]

[[cases]]
m = 64
n = 33
self = "transposed"

[[cases]]
m = "1..40"
n = "1..100"

[[cases]]
m = 1024
n = 1024
class = "realistic"
"""
PROBLEM = """format = 1
name = "small_NAME"
semantics = "SEMANTICS, in f32, rounded once."
dtypes = ["f32"]

[tensors]
self = "[m, n]"

[outputs]
out = "SEMANTICS"

[reference]
graph = "out = GRAPH"
"""
RELU = """/*@plan
x = contiguous(self)
n = x.numel
launch("k", grid=cdiv(n, 256), block=256, args=[x, out, n])
@*/
extern "C" __global__ void k(const float* x, float* y, long long n) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i < n) y[i] = x[i] <= 0.0f ? 0.0f : x[i];
}
"""
ROW_SUM = """/*@plan
x = contiguous(self)
launch("k", grid=x.shape[0], block=256, args=[x, out, x.shape[1]])
@*/
extern "C" __global__ void k(const float* x, float* y, int n) {
  __shared__ float part[8];
  const float* row = x + (long long)blockIdx.x * n;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < n; i += 256) sum += row[i];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int warp = 1; warp < 8; ++warp) sum += part[warp];
    y[blockIdx.x] = sum;
  }
}
"""


def problem(name, semantics, graph):
    text = PROBLEM.replace("NAME", name).replace("SEMANTICS", semantics).replace("GRAPH", graph)
    return {"problem": {"definition": text + CASES}}


SMALL = {
    "small_relu": (problem("relu", "relu(self)", "relu(self)"), RELU),
    "small_row_sum": (problem("row_sum", "sum(self) over n", "sum(self, dim=[1])"), ROW_SUM),
}
