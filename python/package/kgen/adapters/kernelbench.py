"""KernelBench: its evaluator.

Interface: `eval_kernel_against_ref` and `KernelExecResult` of `src/kernelbench/eval.py` at 423217d. The
reference, a file with `Model`, `get_inputs` and `get_init_inputs`, becomes a problem by `kgen import module`,
which runs it as host code in a Python with PyTorch. A `kgen serve` of one's own needs `--allow-python` for it.
`custom_model_src` is a kernel file of kgen, or a reply with one.

Not taken over: `seed_num` and the numbers of trials, since kgen's own inputs are secret and new; `build_dir`,
`device` and `timing_method`, which are the server's. `runtime` and `ref_runtime` are milliseconds, the geometric
means of medians over the timed cases; -1 is not measured, as there.
"""

from __future__ import annotations

import functools
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..binary import document, flags
from ..client import Client
from ..errors import CommandError
from ..protocol import of_kernel
from ..results import Result
from . import _task

DTYPES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}


@dataclass
class KernelExecResult:
    """The result of one kernel, with KernelBench's members."""

    compiled: bool = False
    correctness: bool = False
    metadata: dict[str, Any] = field(default_factory=dict)
    runtime: float = -1.0
    runtime_stats: dict[str, Any] = field(default_factory=dict)
    ref_runtime: float = -1.0
    ref_runtime_stats: dict[str, Any] = field(default_factory=dict)


@functools.lru_cache(maxsize=1024)
def definition(model_src: str, python: str = sys.executable, entry_point: str = "Model") -> str:
    """The op file of a module's source. Raises `CommandError` with the reason where it cannot be imported."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.py"
        path.write_text(model_src, encoding="utf-8")
        _, found = document("import", "module", f"{path}:{entry_point}", *flags({"output": folder, "python": python}))
        for problem in found["data"][0]["problems"]:
            return Path(problem["file"]).read_text(encoding="utf-8")
    raise CommandError(1, "not_imported", "; ".join(found["data"][0]["failed"]))


def exec_result(result: Result) -> KernelExecResult:
    """A result in KernelBench's terms. Raises `InfraError` where the machine failed."""
    metadata: dict[str, Any] = {"hardware": of_kernel(result).device, "kgen": asdict(result)}
    if result.error is not None:
        metadata["correctness_issue" if result.compiled else "compilation_error"] = result.error.text
    found = KernelExecResult(bool(result.compiled), bool(result.correct), metadata)
    found.runtime = -1.0 if result.kernel_us is None else result.kernel_us / 1000
    found.ref_runtime = -1.0 if result.baseline_us is None else result.baseline_us / 1000
    return found


def eval_kernel_against_ref(
    original_model_src: str,
    custom_model_src: str,
    seed_num: int = 42,
    num_correct_trials: int = 1,
    num_perf_trials: int = 10,
    measure_performance: bool = False,
    timing_method: str = "cuda_event",
    verbose: bool = False,
    build_dir: Any = None,
    device: Any = None,
    backend: str = "cuda",
    precision: Any = "float32",
    check_for_excessive_speedup: bool = True,
    excessive_speedup_threshold: float = 10,
    *,
    client: Client | None = None,
    python: str = sys.executable,
) -> KernelExecResult:
    """Judges a kernel against a module; `python` is the interpreter with PyTorch that imports it."""
    if backend != "cuda":
        raise ValueError(f"kgen judges CUDA kernels, not backend {backend!r}")
    result = (client or _task.default_client(python)).evaluate(
        _task.source(custom_model_src),
        problem={"definition": definition(original_model_src, python)},
        dtypes=[DTYPES[str(precision).removeprefix("torch.")]],
        level="time" if measure_performance else "judge",
    )
    found = exec_result(result)
    if check_for_excessive_speedup and (_task.speedup_of(result) or 0) > excessive_speedup_threshold:
        found.metadata["excessive_speedup"] = True
    return found
