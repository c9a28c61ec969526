"""Ops in CuPy, on torch's current stream. The arrays are torch's tensors through DLPack."""

import cupy
import cupyx.scipy.special

from ..refusal import need, torch
from . import array_ops
from .call import Call, numpy_name

OPS = array_ops.OPS
DTYPES = ("f64", "f32", "f16")


def bind(problem):
    need(problem.device.type == "cuda", "cupy needs a GPU")
    return CupyCall(problem)


class CupyCall(Call):
    """An eager call: a kernel for each function of CuPy."""

    def __init__(self, problem):
        self.problem = problem
        self.stream = cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream)
        with self.stream:
            self.arrays = {name: cupy.from_dlpack(tensor) for name, tensor in problem.tensors.items()}
        wide = getattr(cupy, numpy_name(problem.wide))
        self.library = array_ops.Arrays(cupy, wide, cupyx.scipy.special.erf, cupy.matmul)
        self.dtypes = [getattr(cupy, numpy_name(dtype)) for dtype in problem.dtypes]

    def enqueue(self):
        with self.stream:
            results = self.problem.op(self.library, **self.arrays, **self.problem.options)
            results = results if isinstance(results, tuple) else (results,)
            need(len(results) == len(self.dtypes), f"cupy gives {len(results)} outputs here")
            return [torch.from_dlpack(of.astype(dtype, copy=False)) for of, dtype in zip(results, self.dtypes)]

    def memory_use(self):
        """Bytes by which an emptied pool grows: within a call it takes no more than what is alive at once."""
        pool = cupy.get_default_memory_pool()
        torch.cuda.synchronize()
        pool.free_all_blocks()
        before, used = pool.total_bytes(), pool.used_bytes()
        results = self()
        peak, kept = pool.total_bytes() - before, pool.used_bytes() - used
        del results
        return {"peak_bytes": peak, "workspace_bytes": peak - kept}

    def close(self):
        self.arrays.clear()
        cupy.get_default_memory_pool().free_all_blocks()
