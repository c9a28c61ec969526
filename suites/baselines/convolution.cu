// Baseline of convolution: implicit matrix products, or a few outputs per thread.
/*@plan
w = contiguous(weight)
b = contiguous(bias)
#include "convolution.plan"
if transposed:
    #include "convolution_transposed.plan"
else:
    #include "convolution_launch.plan"
@*/

#if KIND >= 2
#include "convolution_transposed.cuh"
#else
#include "convolution.cuh"
#endif
