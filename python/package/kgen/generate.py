"""Runs of `kgen generate`, and their kernels as functions of PyTorch."""

from __future__ import annotations

import importlib.util
import itertools
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .binary import document, flags, scratch
from .results import read


@dataclass(frozen=True)
class OpSpeedup:
    """Geometric mean of baseline time over kernel time, with its 99 % interval where there is one."""

    baseline: str
    geomean: float
    interval: tuple[float, float] | None = None


@dataclass(frozen=True)
class OpResult:
    """An op of a run; verdict, level and file are those of its best attempt. `best_file` is relative to the run."""

    op: str
    verdict: str | None = None
    level: str | None = None
    attempts: int = 0
    best_attempt: int | None = None
    best_file: str | None = None
    confirmed: bool = False
    speedups: tuple[OpSpeedup, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether the best attempt is right."""
        return self.verdict == "passed"


@dataclass(frozen=True)
class GenerateResult:
    """A run. `exit_code`: 0 all ops are solved, 1 some are not, 6 prompts await replies, 7 a budget is reached.

    `data` is the whole document's (schema `kgen/run/1`).
    """

    run: str
    exit_code: int
    ops: tuple[OpResult, ...]
    n_passed: int
    warnings: tuple[str, ...] = ()
    output_dir: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


def _op_result(row: Mapping[str, Any]) -> OpResult:
    speedups = row.get("speedups") or ()
    found = (read(OpSpeedup, s, interval=s.get("interval") and tuple(s["interval"])) for s in speedups)
    return read(OpResult, row, speedups=tuple(found))


def generate(
    ops: Sequence[str] | str, *, provider: str | None = None, output_dir: str | None = None, **options: Any
) -> GenerateResult:
    """Asks a model for kernels: `kgen generate --ops OPS`, with its flags as arguments (`max_attempts=3`).

    Ops that stay unsolved are a result. Raises `CommandError` where the run could not be made or was ended by the
    provider; its `data` has what there is.
    """
    names = ops if isinstance(ops, str) else list(ops)
    given = flags({"ops": names, "provider": provider, "output_dir": output_dir, **options})
    code, found = document("generate", *given)
    data = found.get("data") or {}
    return GenerateResult(
        run=data.get("run", ""),
        exit_code=code,
        ops=tuple(map(_op_result, data.get("ops", ()))),
        n_passed=data.get("n_passed", 0),
        warnings=tuple(found.get("warnings", ())),
        output_dir=output_dir,
        data=data,
    )


_count = itertools.count()


def load(
    run: GenerateResult | str | os.PathLike[str],
    op: str,
    *,
    attempt: int | None = None,
    output_dir: str | None = None,
) -> Callable[..., Any]:
    """The best kernel of a run's op as a function of PyTorch (of an imported module: its class `ModelNew`).

    `run` is a result of `generate`, a run ID, `latest`, or a run's folder. A call needs PyTorch and a GPU. Raises
    `CommandError` where there is no kernel that passed.
    """
    if isinstance(run, GenerateResult):
        output_dir = output_dir or run.output_dir
        run = run.run
    # The file stays for PyTorch's compiler and tracebacks, which read it.
    path = os.path.join(scratch("kgen-load-"), "kernel.py")
    given = flags({"attempt": attempt, "output_dir": output_dir})
    document("export", os.fspath(run), "--op", op, "--to", "torch", "-o", path, *given)
    name = f"_kgen_kernel_{next(_count)}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Callable[..., Any] = getattr(module, "ModelNew", None) or module.call
    return found
