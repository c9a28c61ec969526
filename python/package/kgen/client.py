"""Clients of `kgen serve`: the flows of `protocol`, carried by httpx."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import httpx

from . import protocol
from .errors import ApiError
from .protocol import Answer, Call, Flow, Patience, Request
from .results import Health, Job, Op, Problem, Result

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

T = TypeVar("T")


class _Settings:
    """The part that both clients share."""

    def __init__(self, url: str, token: str | None = None, timeout: float = 600.0, retries: int = 10) -> None:
        """`timeout` is in seconds, of a whole call with its waits; `retries` bounds what is sent again."""
        self.url, self.timeout, self.retries = url.rstrip("/"), timeout, retries
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._given = url, token, timeout, retries
        self._http: httpx.Client | None = None
        self._pid = 0
        self._https: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient] = WeakKeyDictionary()

    def __reduce__(self) -> tuple[Any, ...]:
        # Connections stay behind where a client goes to another process.
        return type(self), self._given

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def _patience(self, timeout: float | None = None) -> Patience:
        return Patience(self.timeout if timeout is None else timeout, self.retries)

    def _options(self) -> dict[str, Any]:
        # No proxy leads to this machine. Waiting evaluations hold a connection each, so there is no limit.
        local = urlsplit(self.url).hostname in ("127.0.0.1", "localhost", "::1")
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=64)
        return {"headers": self._headers, "trust_env": not local, "limits": limits}

    def _arguments(self, call: Call) -> dict[str, Any]:
        headers = {"Content-Type": "application/json"} if call.body is not None else {}
        return {
            "method": call.method,
            "url": self.url + call.path,
            "params": dict(call.query),
            "content": call.body,
            "headers": headers,
            "timeout": httpx.Timeout(call.timeout_s, connect=min(10.0, call.timeout_s)),
        }


def _answer(response: httpx.Response) -> Answer:
    return Answer(response.status_code, response.text, response.headers.get("Retry-After"))


def _lost(error: httpx.HTTPError) -> Answer:
    return Answer(0, f"{type(error).__name__}: {error}")


class Client(_Settings):
    """A client of `kgen serve`. Threads may share it; a forked process opens its own connections.

    Every method raises `ApiError` where the server refuses, and `UnreachableError` where there is no answer. A
    call that found the server busy or gone, or whose job failed in a retryable way is sent again up to `retries`
    times, after the time that the server asks for.
    """

    def _run(self, flow: Flow[T]) -> T:
        try:
            call = next(flow)
            while True:
                time.sleep(call.delay_s)
                call = flow.send(self._send(call))
        except StopIteration as end:
            value: T = end.value
            return value

    def _send(self, call: Call) -> Answer:
        if self._http is None or self._pid != os.getpid():
            self._http, self._pid = httpx.Client(**self._options()), os.getpid()
        try:
            return _answer(self._http.request(**self._arguments(call)))
        except httpx.HTTPError as error:
            return _lost(error)

    def evaluate(self, source: str, **request: Unpack[Request]) -> Result:
        """Evaluates a kernel file (members: `Request`), and waits for the result.

        Raises `InfraError` where the machine failed, `DeadlineError` where time ran out.
        """
        return self._run(
            protocol.evaluate(self._patience(request.get("timeout")), protocol.request(source, **request))
        )

    def batch(self, requests: Sequence[Mapping[str, Any]]) -> list[Job | ApiError]:
        """Evaluates many: members of `Request` with `source` each. The answers are in their order.

        A request that was refused has its `ApiError`; a machine that failed is a job in state `failed`.
        """
        return self._run(protocol.batch(self._patience(), requests))

    def job(self, id: str, wait: float = 0.0) -> Job:
        """A job in whatever state, after `wait` seconds if it has not ended before."""
        return self._run(protocol.job(self._patience(), id, wait))

    def evaluation(self, id: str) -> dict[str, Any]:
        """The whole evaluation of a job, as `data` of `kgen eval --format json`."""
        return self._run(protocol.evaluation(self._patience(), id))

    def ops(self) -> list[Op]:
        """The ops of the catalogue."""
        return self._run(protocol.ops(self._patience()))

    def problems(self) -> list[Problem]:
        """The op files of the server."""
        return self._run(protocol.problems(self._patience()))

    def prompt(self, op: str, *, dtypes: Sequence[str] | str | None = None, problem: str | None = None) -> str:
        """The text that asks a model for a kernel of an op."""
        return self._run(protocol.prompt(self._patience(), op, dtypes, problem))

    def health(self) -> Health:
        """State of the server; it needs no token."""
        return self._run(protocol.health())

    def close(self) -> None:
        """Closes the connections."""
        if self._http is not None:
            self._http.close()
            self._http = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class AsyncClient(_Settings):
    """`Client` for asyncio: the same methods as coroutines. Several event loops may share it."""

    async def _run(self, flow: Flow[T]) -> T:
        try:
            call = next(flow)
            while True:
                await asyncio.sleep(call.delay_s)
                call = flow.send(await self._send(call))
        except StopIteration as end:
            value: T = end.value
            return value

    async def _send(self, call: Call) -> Answer:
        loop = asyncio.get_running_loop()
        if loop not in self._https:
            self._https[loop] = httpx.AsyncClient(**self._options())
        try:
            return _answer(await self._https[loop].request(**self._arguments(call)))
        except httpx.HTTPError as error:
            return _lost(error)

    async def evaluate(self, source: str, **request: Unpack[Request]) -> Result:
        """As `Client.evaluate`."""
        return await self._run(
            protocol.evaluate(self._patience(request.get("timeout")), protocol.request(source, **request))
        )

    async def batch(self, requests: Sequence[Mapping[str, Any]]) -> list[Job | ApiError]:
        """As `Client.batch`."""
        return await self._run(protocol.batch(self._patience(), requests))

    async def job(self, id: str, wait: float = 0.0) -> Job:
        """As `Client.job`."""
        return await self._run(protocol.job(self._patience(), id, wait))

    async def evaluation(self, id: str) -> dict[str, Any]:
        """As `Client.evaluation`."""
        return await self._run(protocol.evaluation(self._patience(), id))

    async def ops(self) -> list[Op]:
        """As `Client.ops`."""
        return await self._run(protocol.ops(self._patience()))

    async def problems(self) -> list[Problem]:
        """As `Client.problems`."""
        return await self._run(protocol.problems(self._patience()))

    async def prompt(self, op: str, *, dtypes: Sequence[str] | str | None = None, problem: str | None = None) -> str:
        """As `Client.prompt`."""
        return await self._run(protocol.prompt(self._patience(), op, dtypes, problem))

    async def health(self) -> Health:
        """As `Client.health`."""
        return await self._run(protocol.health())

    async def close(self) -> None:
        """Closes the connections of this event loop."""
        client = self._https.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()
