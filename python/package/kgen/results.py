"""Answers of the server as frozen dataclasses. Members that this version does not know are left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar

T = TypeVar("T")


def read(cls: type[T], data: Mapping[str, Any], **nested: Any) -> T:
    """Makes a dataclass of the members that it has."""
    known = {field.name for field in fields(cls)}  # type: ignore[arg-type]
    return cls(**{name: value for name, value in {**data, **nested}.items() if name in known})


@dataclass(frozen=True)
class Cases:
    """Counts of the cases of an evaluation; skipped ones did not run."""

    passed: int
    total: int
    skipped: int = 0


@dataclass(frozen=True)
class Speedup:
    """Baseline time over kernel time: geometric mean over the timed cases, with its 99 % interval."""

    baseline: str
    median: float
    interval: tuple[float, float]
    verdict: Literal["faster", "slower", "unclear"]

    @property
    def lower(self) -> float:
        """The lower bound of the interval."""
        return self.interval[0]


@dataclass(frozen=True)
class KernelError:
    """Why a kernel did not pass: `kind` is the verdict, `text` the first finding."""

    kind: str
    text: str


@dataclass(frozen=True)
class InfraFailure:
    """Why the machine failed, and whether the same request may succeed later."""

    kind: str
    text: str
    retryable: bool


@dataclass(frozen=True)
class Result:
    """Result of an evaluation. Times are in microseconds (`_us`) or seconds (`_s`); None is not measured.

    `compiled` and `correct` are None where the machine failed; then `infra_error` says how. `correct` is also
    None at level `compile`.
    """

    compiled: bool | None
    correct: bool | None
    verdict: str | None = None
    stage: str | None = None
    cases: Cases = Cases(0, 0)
    worst_error_over_bound: float | None = None
    speedup: Speedup | None = None
    baseline_us: float | None = None
    kernel_us: float | None = None
    floor_us: float | None = None
    flags: tuple[str, ...] = ()
    error: KernelError | None = None
    infra_error: InfraFailure | None = None
    timing_s: Mapping[str, float] | None = None
    feedback: str = ""
    device: str | None = None
    seed: int | None = None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Result:
        """Reads the member `result` of a job."""
        speedup, error, infra = data.get("speedup"), data.get("error"), data.get("infra_error")
        worst = data.get("worst_error_over_bound")
        return read(
            cls,
            data,
            cases=read(Cases, data.get("cases") or {"passed": 0, "total": 0}),
            # JSON has no infinity; kgen spells it as a string.
            worst_error_over_bound=None if worst is None else float(worst),
            speedup=speedup and read(Speedup, speedup, interval=tuple(speedup["interval"])),
            flags=tuple(data.get("flags") or ()),
            error=error and read(KernelError, error),
            infra_error=infra and read(InfraFailure, infra),
        )


@dataclass(frozen=True)
class Job:
    """A job of the server. `result` is None until it has ended (`done` or `failed`)."""

    id: str
    state: Literal["queued", "running", "done", "failed"]
    op: str = ""
    level: str = "judge"
    created_at: str | None = None
    started_at: str | None = None
    finished_at: str | None = None
    tries: int = 0
    result: Result | None = None

    @property
    def ended(self) -> bool:
        """Whether there is a result, or the machine failed."""
        return self.state in ("done", "failed")

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Job:
        """Reads a job as the server answers it."""
        result = data.get("result")
        return read(cls, data, result=Result.from_json(result) if result else None)


@dataclass(frozen=True)
class Op:
    """An op of the catalogue."""

    name: str
    overload: str
    signature: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Problem:
    """An op file of the server, and the op that it defines."""

    name: str
    op: str


@dataclass(frozen=True)
class Health:
    """State of the server; `status` is `ok` or `draining`."""

    status: str
    kgen_version: str
    device: str
    workers: int
    queued: int
    running: int
    max_queue: int
