#pragma once
#include <cuda/std/tuple>
namespace std { using namespace cuda::std; }
