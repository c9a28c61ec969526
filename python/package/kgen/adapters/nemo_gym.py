"""NeMo Gym: a resources server.

Interface: `POST /seed_session` and `POST /verify` of `nemo_gym/base_resources_server.py` (nemo-gym 0.4.0, and
07d6b0d): the request of `/verify` has `responses_create_params` and `response` (an OpenAI response), the answer
has all of it and `reward`. The task stands in a row of the data set: members of `kgen.Request` beside
`responses_create_params`, or under `verifier_metadata`.

    uvicorn --factory kgen.adapters.nemo_gym:app
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse
from starlette.routing import Route

from ..client import AsyncClient
from ..protocol import Request
from ..reward import reward as default_reward
from . import _http, _task

if TYPE_CHECKING:
    from typing_extensions import Unpack


def reply_of(response: Any) -> str:
    """The text of the last message of an OpenAI response; empty where there is none."""
    messages = [item for item in response.get("output", []) if item.get("type") == "message"]
    content = messages[-1].get("content", []) if messages else []
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content if part.get("type") == "output_text")


def app(
    client: AsyncClient | None = None, reward: _task.Reward = default_reward, **defaults: Unpack[Request]
) -> Starlette:
    """The ASGI app."""
    judge = client or _task.default_async_client()

    async def seed_session(request: HttpRequest) -> JSONResponse:
        return JSONResponse({})

    async def verify(request: HttpRequest) -> JSONResponse:
        body = await _http.body_of(request)
        if not isinstance(body.get("response"), dict):
            raise ValueError("`response` must be an object")
        row = {**body, **(body.get("verifier_metadata") or {})}
        members = {name: row[name] for name in Request.__annotations__ if row.get(name) is not None}
        task = _task.task(members, defaults)
        result = await judge.evaluate(_task.source(reply_of(body["response"])), **task)
        found = {
            "reward": float(reward(result)),
            "compiled": float(bool(result.compiled)),
            "correct": float(bool(result.correct)),
            "verdict": result.verdict,
        }
        return JSONResponse({**body, **found})

    return _http.make_app(
        [Route("/seed_session", seed_session, methods=["POST"]), Route("/verify", verify, methods=["POST"])]
    )
