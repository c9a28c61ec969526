"""slime: a remote reward server.

Interface: `--rm-type remote_rm --rm-url URL`, `slime/rollout/rm_hub/__init__.py` at 624b824: POST `{prompt,
response, label}`, the answer is the reward as JSON. slime gives up after 120 s and posts the same again up to ten
times: so an answer comes within 110 s, or 503, and the next post finds the same job.

    uvicorn --factory kgen.adapters.slime:app
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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

ANSWER_WITHIN_S = 110.0


def app(
    client: AsyncClient | None = None, reward: _task.Reward = default_reward, **defaults: Unpack[Request]
) -> Starlette:
    """The ASGI app, for posts to any path. `label` is the task."""
    judge = client or _task.default_async_client()
    # A little is left for the way back.
    timeout = min(judge.timeout, ANSWER_WITHIN_S - 5)

    async def score(request: HttpRequest) -> JSONResponse:
        body = await _http.body_of(request)
        response, label = body.get("response"), body.get("label")
        if not isinstance(response, str) or not isinstance(label, (str, dict)):
            raise ValueError("`response` must be text and `label` a task")
        members = _task.task(label, defaults)
        members["timeout"] = timeout
        return JSONResponse(float(reward(await judge.evaluate(_task.source(response), **members))))

    return _http.make_app([Route("/{path:path}", score, methods=["POST"])])
