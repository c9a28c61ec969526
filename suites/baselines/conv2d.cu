// Baseline of conv2d: implicit matrix products on tensor cores, or a thread per output element.
/*@plan
w = contiguous(weight)
b = contiguous(bias)
#include "convolution.plan"
#include "convolution_launch.plan"
@*/

#include "convolution.cuh"
