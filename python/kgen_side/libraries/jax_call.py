"""Ops in JAX, compiled once for each call's shapes.

The arrays are torch's tensors, which JAX imports through DLPack without a copy. JAX has streams of its own, so each call
exchanges events with torch's by the rules of DLPack: an element imported anew makes JAX wait for what torch's stream
holds, and the export of the results makes torch's stream wait for them.
"""

import functools
import os

# JAX would take most of the GPU's memory at its first call.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp

from ..refusal import Refusal, need, torch
from . import array_ops
from .call import NOT_MEASURED, Call, numpy_name

OPS = array_ops.OPS
DTYPES = ("f64", "f32", "f16", "bf16")

# Without it JAX reads f64 and i64 as their halves.
jax.config.update("jax_enable_x64", True)
if not torch.cuda.is_initialized():
    jax.config.update("jax_platforms", "cpu")


def shared(tensor):
    """A tensor as an array of JAX in the same memory."""
    try:
        return jax.dlpack.from_dlpack(tensor, copy=False)
    except (RuntimeError, ValueError, BufferError, TypeError) as error:
        raise Refusal("unsupported", f"jax takes a tensor only with a copy: {error}", error) from error


class JaxCall(Call):
    """A compiled call."""

    def __init__(self, problem):
        self.on_cpu = problem.device.type == "cpu"
        self.token = torch.zeros(1, device=problem.device)
        self.arrays = [shared(tensor) for tensor in problem.tensors.values()]
        compute = jax.jit(traced(problem), keep_unused=True)
        self.compiled = compute.lower(shared(self.token), *self.arrays).compile()

    def enqueue(self):
        results = self.compiled(shared(self.token), *self.arrays)
        if self.on_cpu or self.blocking:
            jax.block_until_ready(results)
        return [torch.from_dlpack(result) for result in results]

    def memory_use(self):
        """Bytes that XLA planned: its allocator's peak is that of the whole process."""
        plan = self.compiled.memory_analysis()
        if plan is None:
            return NOT_MEASURED
        workspace = plan.temp_size_in_bytes
        return {"peak_bytes": plan.output_size_in_bytes + workspace, "workspace_bytes": workspace}


def traced(problem):
    """The op as a function of its tensors, which JAX traces."""
    wide = getattr(jnp, numpy_name(problem.wide))
    # Inputs of f32 may be rounded to TF32 at JAX's own precision.
    precision = jax.lax.Precision.DEFAULT if problem.tf32 else jax.lax.Precision.HIGHEST
    product = functools.partial(jnp.matmul, precision=precision, preferred_element_type=wide)
    library = array_ops.Arrays(jnp, wide, jax.scipy.special.erf, product)
    dtypes = [getattr(jnp, numpy_name(dtype)) for dtype in problem.dtypes]

    def compute(_token, *arrays):
        results = problem.op(library, **dict(zip(problem.tensors, arrays)), **problem.options)
        results = results if isinstance(results, tuple) else (results,)
        need(len(results) == len(dtypes), f"jax gives {len(results)} outputs here")
        return [result.astype(dtype) for result, dtype in zip(results, dtypes)]

    return compute


bind = JaxCall
