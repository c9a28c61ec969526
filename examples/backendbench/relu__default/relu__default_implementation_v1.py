"""A Triton kernel in BackendBench's layout: `kgen run --backend pregenerated --kernels-dir examples/backendbench`."""

import torch
import triton
import triton.language as tl


@triton.jit
def relu__default_triton_kernel(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    # A comparison with NaN is false: it is passed on, as the op demands.
    tl.store(y + at, tl.where(value < 0, 0.0, value).to(value.dtype), mask=at < n)


def relu__default_kernel_impl(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n:
        relu__default_triton_kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)
    return y
