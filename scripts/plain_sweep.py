"""The sweep of bench_gpu.sh as many scripts do it: 10 calls, then 100 between two readings of the host's clock, no check of
results. Prints a line per case, and how long all took."""

import itertools
import time

import torch
import torch.nn.functional as F


def op(name, d, dtype):
    if name == "layer_norm":
        weight, bias = (torch.randn(d, device="cuda", dtype=dtype) for _ in range(2))
        return lambda x: F.layer_norm(x, [d], weight, bias)
    return {"gelu": F.gelu, "silu": F.silu, "mse_loss": lambda x: F.mse_loss(x, x)}[name]


def milliseconds(call):
    for _ in range(10):
        call()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(100):
        call()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) * 10


began = time.perf_counter()
grid = itertools.product(["layer_norm", "gelu", "silu", "mse_loss"], [torch.float32, torch.bfloat16], [1, 4, 16, 32], [256, 1024],
                         [768, 1024, 2048, 4096])
for name, dtype, b, s, d in grid:
    x = torch.randn(b, s, d, device="cuda", dtype=dtype)
    function = op(name, d, dtype)
    compiled = torch.compile(function, dynamic=False)
    torch._dynamo.reset()
    with torch.no_grad():
        eager_ms = milliseconds(lambda: function(x))
        compiled_ms = milliseconds(lambda: compiled(x))
    memory_mb = torch.cuda.max_memory_allocated() / 1e6
    print(f"{name} {dtype} {b} {s} {d}: {eager_ms:.4f} ms, compiled {compiled_ms:.4f} ms, {memory_mb:.1f} MB")
print(f"all: {time.perf_counter() - began:.1f} s")
