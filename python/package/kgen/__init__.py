"""Judge of CUDA kernels: right or wrong on an emulator or a GPU, and how fast.

`evaluate` judges a kernel file on this machine, `Client` and `AsyncClient` by a `kgen serve`; `kgen.adapters` has
the interfaces of trainers and benchmarks.
"""

from .binary import find_kgen_bin
from .client import AsyncClient, Client
from .errors import ApiError, BinaryNotFoundError, CommandError, DeadlineError, Error, InfraError, UnreachableError
from .extract import extract
from .generate import GenerateResult, OpResult, OpSpeedup, generate, load
from .protocol import Request
from .results import Cases, Health, InfraFailure, Job, KernelError, Op, Problem, Result, Speedup
from .reward import reward
from .server import Server, evaluate

__all__ = [
    "ApiError",
    "AsyncClient",
    "BinaryNotFoundError",
    "Cases",
    "Client",
    "CommandError",
    "DeadlineError",
    "Error",
    "GenerateResult",
    "Health",
    "InfraError",
    "InfraFailure",
    "Job",
    "KernelError",
    "Op",
    "OpResult",
    "OpSpeedup",
    "Problem",
    "Request",
    "Result",
    "Server",
    "Speedup",
    "UnreachableError",
    "evaluate",
    "extract",
    "find_kgen_bin",
    "generate",
    "load",
    "reward",
]
