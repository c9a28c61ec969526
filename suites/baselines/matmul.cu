// Baseline of matmul: up to three dimensions before the matrices.
/*@plan
a, b, c = self, other, None
m = a.shape[-2] if a.ndim > 1 else 1
n = b.shape[-1] if b.ndim > 1 else 1
k = a.shape[-1]
a_row = a.stride[-2] if a.ndim > 1 else k
a_col = a.stride[-1]
b_row = b.stride[-2] if b.ndim > 1 else b.stride[0]
b_col = b.stride[-1] if b.ndim > 1 else k

n_dims = out.ndim - (1 if a.ndim > 1 else 0) - (1 if b.ndim > 1 else 0)
require(n_dims <= 3)
inner = out.shape[n_dims - 1] if n_dims > 0 else 1
middle = out.shape[n_dims - 2] if n_dims > 1 else 1
n_batch = inner * middle * (out.shape[0] if n_dims > 2 else 1)
a2 = a.stride[-3] if a.ndim > 2 and a.shape[-3] > 1 else 0
a1 = a.stride[-4] if a.ndim > 3 and a.shape[-4] > 1 else 0
a0 = a.stride[-5] if a.ndim > 4 and a.shape[-5] > 1 else 0
b2 = b.stride[-3] if b.ndim > 2 and b.shape[-3] > 1 else 0
b1 = b.stride[-4] if b.ndim > 3 and b.shape[-4] > 1 else 0
b0 = b.stride[-5] if b.ndim > 4 and b.shape[-5] > 1 else 0
# Rows of all batches that meet the same matrix are one.
if b.ndim == 2 and a.ndim > 2 and a.contiguous:
    m = out.numel // max(n, 1)
    n_batch, middle, inner = 1, 1, 1
    a0, a1, a2 = 0, 0, 0
c_batch, c_row, c_col = 0, 0, 0
alpha_, beta_ = f32(1), f32(0)
#include "product.plan"
@*/

using ElementA = T_self;
using ElementB = T_other;
using ElementC = T_out;
#include "product.cuh"
