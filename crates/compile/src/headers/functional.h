#pragma once
#include <cuda/std/functional>
namespace std { using namespace cuda::std; }
