#pragma once
#include <cuda/std/utility>
namespace std { using namespace cuda::std; }
