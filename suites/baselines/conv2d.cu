// Baseline of conv2d: implicit matrix products, or a few outputs per thread.
/*@plan
w = contiguous(weight)
b = contiguous(bias)
#include "convolution.plan"
#include "convolution_launch.plan"
@*/

#include "convolution.cuh"
