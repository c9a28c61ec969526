"""The frame of adapters that are ASGI apps; it needs starlette (`pip install kgen[adapters]`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from ..errors import ApiError, Error, InfraError


async def body_of(request: Request) -> dict[str, Any]:
    """The JSON object of a request."""
    found = json.loads(await request.body() or b"{}")
    if not isinstance(found, dict):
        raise ValueError("the body is no JSON object")
    return found


def refuse(request: Request, error: Exception) -> Response:
    """Answers an error: 503 where a later try may succeed, 500 where the machine will fail again, else 400."""
    status = 400
    if isinstance(error, InfraError):
        status = 503 if error.retryable else 500
    elif isinstance(error, ApiError) and error.status in (401, 403):
        # The server takes no such requests of this app, whatever they are.
        status = 500
    elif isinstance(error, Error) and not (isinstance(error, ApiError) and error.status in (400, 409, 413, 422)):
        status = 503
    headers = {"Retry-After": "5"} if status == 503 else None
    kind = getattr(error, "kind", type(error).__name__)
    return JSONResponse({"error": {"kind": kind, "text": str(error)}}, status, headers)


def make_app(routes: Sequence[BaseRoute]) -> Starlette:
    """An app with these routes. A `ValueError` is a mistake of the caller's."""
    handlers: dict[Any, Any] = {Error: refuse, ValueError: refuse}
    return Starlette(routes=routes, exception_handlers=handlers)
