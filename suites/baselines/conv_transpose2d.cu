// Baseline of conv_transpose2d: matrix products and their sums, or a thread per output element.
/*@plan
w = contiguous(weight)
b = contiguous(bias)
#include "convolution.plan"
#include "convolution_transposed.plan"
@*/

#include "convolution_transposed.cuh"
