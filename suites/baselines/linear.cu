// Baseline of linear.
/*@plan
# The rows of all batches are one matrix if they lie evenly.
a = input if input.ndim == 2 else contiguous(input)
b = weight
k = a.shape[-1]
m = prod(a.shape, 0, a.ndim - 1) if a.ndim > 1 else 1
n = b.shape[0] if b.ndim == 2 else 1
n_batch, middle, inner = 1, 1, 1
a0, a1, a2, b0, b1, b2 = 0, 0, 0, 0, 0, 0
a_row = a.stride[-2] if a.ndim > 1 else k
a_col = a.stride[-1]
b_row = b.stride[-1]
b_col = b.stride[0] if b.ndim == 2 else k
c_batch, c_row, c_col = 0, 0, 0
c = None
if has(bias):
    if bias.ndim <= 1:
        c = bias
        c_col = c.stride[0] if c.ndim == 1 and c.shape[0] > 1 else 0
    else:
        c = expand(bias, out.shape)
        c_row, c_col = n, 1
alpha_, beta_ = f32(1), f32(1)
#include "product.plan"
@*/

using ElementA = T_input;
using ElementB = T_weight;
using ElementC = T_bias;
#include "product.cuh"
