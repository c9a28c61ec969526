"""The contract of `kgen serve`, without a transport.

A flow is a generator that yields calls and is sent their answers; a client only carries them. So the sync and the
async client share all decisions: what is sent, what is sent again and when, and what an answer means.
"""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, TypeVar
from urllib.parse import quote

from . import results
from .errors import ApiError, DeadlineError, Error, InfraError, UnreachableError
from .results import Health, Job, Op, Problem, Result

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")
LONGEST_WAIT_S = 50.0
LARGEST_BATCH = 256
# No answer, a full queue, a server or a proxy that goes away: an equal request is the same job.
AGAIN = (0, 429, 502, 503, 504)


@dataclass(frozen=True)
class Call:
    """A request to be sent after `delay_s`, whose answer takes `timeout_s` at most."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    delay_s: float = 0.0
    timeout_s: float = 30.0


@dataclass(frozen=True)
class Answer:
    """An answer; its status is 0 where none came, and `text` says why."""

    status: int
    text: str
    retry_after: str | None = None

    def json(self) -> Any:
        """The body; None where it is no JSON."""
        try:
            return json.loads(self.text)
        except ValueError:
            return None


Flow: TypeAlias = Generator[Call, Answer, T]


class Patience:
    """How long and how often one call of the user is tried."""

    def __init__(self, timeout_s: float, retries: int) -> None:
        self.end = time.monotonic() + timeout_s
        self.retries = self.left = retries

    def fresh(self) -> Patience:
        """The same end, with all retries."""
        return Patience(self.remaining(), self.retries)

    def remaining(self) -> float:
        """Seconds until the user's timeout."""
        return max(0.0, self.end - time.monotonic())

    def delay(self, answer: Answer, tries: int) -> float | None:
        """Seconds until the call may be sent again; None if it must not be."""
        try:
            seconds = max(0.0, float(answer.retry_after or ""))
        except ValueError:
            seconds = min(0.25 * 2**tries, 30.0)
        seconds *= 1 + random.random() / 4
        if self.left <= 0 or seconds >= self.remaining():
            return None
        self.left -= 1
        return seconds


class Request(TypedDict, total=False):
    """Members of an evaluation; one of `op` and `problem` is needed, the server has defaults for the rest."""

    op: str
    """Any name of an op of the catalogue."""
    problem: str | Mapping[str, str]
    """Name of an op file of the server, or `{"definition": TEXT}`."""
    level: str
    """`compile`, `judge` or `time`."""
    dtypes: Sequence[str] | str
    suite: str
    precision: str
    seed: int
    deadline_s: float
    """Seconds that the server has."""
    idempotency_key: str
    timeout: float
    """Seconds that the caller waits; it is not sent."""


def request(source: str, **members: Unpack[Request]) -> dict[str, Any]:
    """The body of an evaluation. Members that are None are left to the server's defaults."""
    # Halves of surrogate pairs, which tokenizers produce, are no UTF-8.
    body = {**members, "source": source.encode("utf-8", "replace").decode()}
    body.pop("timeout", None)
    if isinstance(name := body.get("problem"), str):
        body["problem"] = {"name": name}
    if dtypes := members.get("dtypes"):
        body["dtypes"] = dtypes.split(",") if isinstance(dtypes, str) else list(dtypes)
    return {name: value for name, value in body.items() if value is not None}


def error_of(answer: Answer) -> Error:
    """The exception that an answer without success means."""
    if answer.status == 0:
        return UnreachableError(answer.text)
    return refusal(answer.status, answer.json(), answer.text)


def refusal(status: int, data: Any, text: str) -> ApiError:
    """The error that a body with the member `error` describes."""
    error = data.get("error") if isinstance(data, dict) else None
    if not isinstance(error, dict):
        return ApiError(status, "http", text[:500])
    return ApiError(status, str(error.get("kind")), str(error.get("text")), error.get("field"), error.get("hint"))


def of_kernel(result: Result | None) -> Result:
    """A result that is about the kernel. Raises `InfraError` where the machine failed."""
    if failure := result and result.infra_error:
        cls = DeadlineError if failure.kind == "deadline" else InfraError
        raise cls(failure.kind, failure.text, failure.retryable)
    if result is None or result.compiled is None:
        raise InfraError("internal", "the result does not say whether the source compiled", False)
    return result


def is_job(data: Any) -> bool:
    """Whether a body is a job, which also answers with 503 may have."""
    return isinstance(data, dict) and "id" in data and "state" in data


def send(
    patience: Patience,
    method: str,
    path: str,
    body: Any = None,
    *,
    query: Mapping[str, str | None] | None = None,
    wait: bool = False,
    delay_s: float = 0.0,
) -> Flow[Answer]:
    """Sends a call until it is taken or refused, or patience ends."""
    content = None if body is None else json.dumps(body).encode()
    given = {name: value for name, value in (query or {}).items() if value is not None}
    tries = 0
    while True:
        remaining = max(0.0, patience.remaining() - delay_s)
        timeout = min(30.0, 1.0 + remaining)
        if wait:
            seconds = math.ceil(min(LONGEST_WAIT_S, remaining))
            given["wait"], timeout = str(seconds), seconds + timeout
        answer = yield Call(method, path, given, content, delay_s, timeout)
        if answer.status in (200, 202) or is_job(answer.json()):
            return answer
        again = patience.delay(answer, tries) if answer.status in AGAIN else None
        if again is None:
            raise error_of(answer)
        delay_s, tries = again, tries + 1


def ended(patience: Patience, job: Job) -> Flow[Job]:
    """Waits until a job has ended."""
    while not job.ended:
        if patience.remaining() <= 0:
            raise DeadlineError("timeout", f"job {job.id} is {job.state} still", True)
        job = Job.from_json((yield from send(patience, "GET", f"/v1/jobs/{job.id}", wait=True)).json())
    return job


def settled(patience: Patience, body: Mapping[str, Any]) -> Flow[Job]:
    """Submits a request until its job is done, or has failed in a way that another try would not mend."""
    tries, delay = 0, 0.0
    while True:
        answer = yield from send(patience, "POST", "/v1/evaluate", body, wait=True, delay_s=delay)
        job = yield from ended(patience, Job.from_json(answer.json()))
        again = patience.delay(answer, tries) if worth_another_try(job) else None
        if again is None:
            return job
        delay, tries = again, tries + 1


def worth_another_try(job: Job) -> bool:
    """Whether an equal request may end otherwise. A deadline was the caller's own."""
    failure = job.result.infra_error if job.state == "failed" and job.result else None
    return failure is not None and failure.retryable and failure.kind != "deadline"


def evaluate(patience: Patience, body: Mapping[str, Any]) -> Flow[Result]:
    """Evaluates a kernel; a failure of the machine is an `InfraError`."""
    return of_kernel((yield from settled(patience, body)).result)


def batch(patience: Patience, requests: Sequence[Mapping[str, Any]]) -> Flow[list[Job | ApiError]]:
    """Evaluates many kernels; in their order a job that has ended, or why the request was refused."""
    bodies = [request(**members) for members in requests]
    found: list[Job | ApiError] = []
    for start in range(0, len(bodies), LARGEST_BATCH):
        chunk = {"requests": bodies[start : start + LARGEST_BATCH]}
        answer = yield from send(patience, "POST", "/v1/batch", chunk)
        for row in answer.json()["jobs"]:
            found.append(Job.from_json(row) if is_job(row) else refusal(422, row, ""))
    for index, job in enumerate(found):
        if isinstance(job, Job):
            job = found[index] = yield from ended(patience, job)
            if worth_another_try(job):
                found[index] = yield from settled(patience.fresh(), bodies[index])
    return found


def get(patience: Patience, path: str, **query: str | None) -> Flow[Any]:
    """The body of a document."""
    return (yield from send(patience, "GET", path, query=query)).json()


def job(patience: Patience, id: str, wait_s: float) -> Flow[Job]:
    """A job in whatever state, after `wait_s` if it has not ended before."""
    path, until = f"/v1/jobs/{quote(id, safe='')}", Patience(wait_s, patience.retries)
    job = Job.from_json((yield from get(patience, path)))
    while not job.ended and until.remaining() > 0:
        job = Job.from_json((yield from send(until, "GET", path, wait=True)).json())
    return job


def evaluation(patience: Patience, id: str) -> Flow[dict[str, Any]]:
    """The whole evaluation of a job."""
    found: dict[str, Any] = yield from get(patience, f"/v1/jobs/{quote(id, safe='')}/evaluation")
    return found


def prompt(patience: Patience, op: str, dtypes: Sequence[str] | str | None, problem: str | None) -> Flow[str]:
    """The first prompt for an op."""
    joined = dtypes if dtypes is None or isinstance(dtypes, str) else ",".join(dtypes)
    path = f"/v1/prompt/{quote(op, safe='')}"
    return str((yield from get(patience, path, dtypes=joined, problem=problem))["prompt"])


def ops(patience: Patience) -> Flow[list[Op]]:
    """The ops of the catalogue."""
    rows = (yield from get(patience, "/v1/ops"))["ops"]
    return [results.read(Op, row, aliases=tuple(row.get("aliases") or ())) for row in rows]


def problems(patience: Patience) -> Flow[list[Problem]]:
    """The op files of the server."""
    rows = (yield from get(patience, "/v1/problems"))["problems"]
    return [results.read(Problem, row) for row in rows]


def health() -> Flow[Health]:
    """State of the server, which may be draining; it is asked once."""
    answer = yield Call("GET", "/health")
    data = answer.json()
    if not isinstance(data, dict) or "status" not in data:
        raise error_of(answer)
    return results.read(Health, data)
