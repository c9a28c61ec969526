#pragma once
#include <cuda/std/array>
namespace std { using namespace cuda::std; }
