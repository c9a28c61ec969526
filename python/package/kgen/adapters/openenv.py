"""OpenEnv: an environment server.

Interface: `POST /reset`, `POST /step`, `GET /state`, `/schema`, `/health` and the messages of `/ws`, as
`openenv/core/env_server/types.py` has them (openenv 0.10.0); their clients speak over `/ws`. The action is
`{code}`, as in their kernrl. Each connection is an episode of its own, the calls without one share one. `reset`
may name another task by members of `kgen.Request`. An episode ends with a right kernel or after `max_turns`.
"""

from __future__ import annotations

import contextlib
from typing import Any
from uuid import uuid4

from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from ..client import AsyncClient
from ..errors import Error
from ..protocol import Request
from ..reward import reward as default_reward
from . import _http, _task

TEXT, FLAG = {"type": ["string", "null"]}, {"type": ["boolean", "null"]}
SEEN = {"prompt": TEXT, "feedback": TEXT, "verdict": TEXT, "compiled": FLAG, "correct": FLAG}
STATE = {"episode_id": TEXT, "step_count": {"type": "integer"}}
MEMBERS = {"action": {"code": {"type": "string"}}, "observation": {**SEEN, "speedup": {}}, "state": STATE}
SCHEMA = {name: {"type": "object", "properties": members} for name, members in MEMBERS.items()}


class Episode:
    """Turns at one task."""

    def __init__(self, judge: AsyncClient, reward: _task.Reward, begin: Request, max_turns: int) -> None:
        self.judge, self.reward, self.begin, self.max_turns = judge, reward, begin, max_turns
        self.task, self.id, self.turns = begin, str(uuid4()), 0

    def state(self) -> dict[str, Any]:
        """The answer of `/state`."""
        return {"episode_id": self.id, "step_count": self.turns}

    async def reset(self, data: dict[str, Any]) -> dict[str, Any]:
        """Begins anew; the observation is the prompt for the op. A seed of theirs is none of the judge's."""
        named = {name: data[name] for name in Request.__annotations__ if name in data and name != "seed"}
        self.task = _task.task(named, self.begin)
        self.id, self.turns = data.get("episode_id") or str(uuid4()), 0
        op = self.task.get("op")
        prompt = await self.judge.prompt(op, dtypes=self.task.get("dtypes")) if op else ""
        return {"observation": {"prompt": prompt, "feedback": ""}, "reward": None, "done": False}

    async def step(self, action: Any) -> dict[str, Any]:
        """Judges the action's code."""
        if not isinstance(action, dict) or not isinstance(action.get("code"), str):
            raise ValueError("`action.code` must be text")
        result = await self.judge.evaluate(_task.source(action["code"]), **self.task)
        self.turns += 1
        seen = {name: getattr(result, name, "") for name in SEEN} | {"speedup": _task.speedup_of(result)}
        done = bool(result.correct) or self.turns >= self.max_turns
        return {"observation": seen, "reward": float(self.reward(result)), "done": done}

    async def talk(self, socket: WebSocket) -> None:
        """Answers the messages of a connection."""
        await socket.accept()
        with contextlib.suppress(WebSocketDisconnect):
            while (message := await socket.receive_json())["type"] != "close":
                kind, data = message["type"], message.get("data") or {}
                try:
                    told = self.state() if kind == "state" else await {"reset": self.reset}.get(kind, self.step)(data)
                    kind = "state" if kind == "state" else "observation"
                except (Error, ValueError) as error:
                    kind, told = "error", {"message": str(error), "code": "EXECUTION_ERROR"}
                await socket.send_json({"type": kind, "data": told})


def app(
    client: AsyncClient | None = None, reward: _task.Reward = default_reward, max_turns: int = 10, **task: Any
) -> Starlette:
    """The ASGI app; `task`, members of `kgen.Request`, is what `reset` begins with: `relu` where it names none."""
    common = client or _task.default_async_client(), reward, _task.task(task, {"op": "relu"}), max_turns
    shared = Episode(*common)

    async def reset(request: HttpRequest) -> JSONResponse:
        return JSONResponse(await shared.reset(await _http.body_of(request)))

    async def step(request: HttpRequest) -> JSONResponse:
        return JSONResponse(await shared.step((await _http.body_of(request)).get("action")))

    async def document(request: HttpRequest) -> JSONResponse:
        found = {"/state": shared.state(), "/schema": SCHEMA, "/health": {"status": "healthy"}}
        return JSONResponse(found[request.url.path])

    async def talk(socket: WebSocket) -> None:
        await Episode(*common).talk(socket)

    gets = [Route(path, document) for path in ("/state", "/schema", "/health")]
    posts = [Route("/reset", reset, methods=["POST"]), Route("/step", step, methods=["POST"])]
    return _http.make_app([*gets, *posts, WebSocketRoute("/ws", talk)])
