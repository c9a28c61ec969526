// Baseline of log_softmax.
/*@plan
#include "softmax.plan"
@*/

constexpr bool LOG = true;
#include "softmax.cuh"
