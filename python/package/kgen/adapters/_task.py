"""Parts that adapters share: tasks, replies, and the server that judges."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

from .. import server
from ..client import AsyncClient, Client
from ..extract import extract
from ..protocol import Request
from ..results import Result

Reward: TypeAlias = Callable[[Result], float]
Label: TypeAlias = str | Mapping[str, Any]


def task(label: Label, defaults: Mapping[str, Any]) -> Request:
    """The members of a request that a label stands for, over defaults. Raises `ValueError` for JSON that is none."""
    if isinstance(label, str):
        label = json.loads(label) if label.lstrip().startswith("{") else {"op": label.strip()}
    # A label that names an op or a problem takes the place of either.
    named = {"op", "problem"} if "op" in label or "problem" in label else set()
    return cast(Request, {**{name: defaults[name] for name in defaults if name not in named}, **label})


def source(reply: str) -> str:
    """The kernel file of a reply. An empty reply is a wrong kernel and no wrong request."""
    found = extract(reply)
    return found if found.strip() else "// an empty reply\n"


@functools.lru_cache(maxsize=1)
def _named(url: str, token: str | None) -> Client:
    return Client(url, token)


def default_client(python: str | None = None) -> Client:
    """A client of the server that the environment names, else of a private one, which has `python` for problems."""
    url = os.environ.get("KGEN_SERVE_URL")
    return _named(url, os.environ.get("KGEN_SERVE_TOKEN")) if url else server.private(python)[1]


def default_async_client(python: str | None = None) -> AsyncClient:
    """The same for asyncio."""
    url, token = os.environ.get("KGEN_SERVE_URL"), os.environ.get("KGEN_SERVE_TOKEN")
    if not url:
        own = server.private(python)[0]
        url, token = own.url, own.token
    return AsyncClient(url, token)


def speedup_of(result: Result) -> float | None:
    """The median speedup, None where it was not measured."""
    return result.speedup.median if result.speedup else None
