// Baseline of baddbmm.
/*@plan
a, b, c = batch1, batch2, self
n_batch, m, k = a.shape
n = b.shape[2]
middle, inner = 1, n_batch
a0, a1, a2 = 0, 0, a.stride[0] if n_batch > 1 else 0
b0, b1, b2 = 0, 0, b.stride[0] if n_batch > 1 else 0
a_row, a_col = a.stride[1], a.stride[2]
b_row, b_col = b.stride[1], b.stride[2]
# A dimension of 1 is read again and again.
c_batch = c.stride[-3] if c.ndim > 2 and c.shape[-3] > 1 else 0
c_row = c.stride[-2] if c.ndim > 1 and c.shape[-2] > 1 else 0
c_col = c.stride[-1] if c.ndim > 0 and c.shape[-1] > 1 else 0
alpha_, beta_ = f32(alpha), f32(beta)
#include "product.plan"
@*/

using ElementA = T_batch1;
using ElementB = T_batch2;
using ElementC = T_self;
#include "product.cuh"
