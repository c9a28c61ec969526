// Baseline of softmax.
/*@plan
#include "softmax.plan"
@*/

constexpr bool LOG = false;
#include "softmax.cuh"
