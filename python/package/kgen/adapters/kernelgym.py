"""KernelGYM: its HTTP API.

Interface: `POST /evaluate`, `GET /status/{id}`, `GET /results/{id}`, with the members of
`kernelgym/server/api/models.py` at 3a84417. As there, `/evaluate` answers when the task has ended, and a task's
result is kept by its `task_id` (here the latest 10,000, in memory). `reference_code` is imported as in
`kernelbench`: it runs as host code beside this app, so serve it to your trainer alone. `kernel_code` is a kernel
file of kgen, whatever `backend` says; their client sends only what has `class ModelNew` in it, so ask for that in a
comment. Runtimes are milliseconds. A machine that fails answers 503, which their client sends again; where another
try would not help, the task is `failed` with `SYSTEM_ERROR`, for which their client still gives its penalty.

    uvicorn --factory kgen.adapters.kernelgym:app
"""

from __future__ import annotations

import asyncio
import sys
from collections import OrderedDict
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from ..client import AsyncClient
from ..errors import CommandError, InfraError
from ..results import Result
from . import _http, _task
from .kernelbench import definition, exec_result

KEPT = 10_000


def response_of(task_id: str, result: Result) -> dict[str, Any]:
    """A result as their `EvaluationResponse`."""
    found = exec_result(result)
    code = "CORRECTNESS_ERROR" if result.verdict in ("wrong_output", "nondeterministic") else "RUNTIME_ERROR"
    return {
        "task_id": task_id,
        "status": "completed",
        "compiled": found.compiled,
        "correctness": found.correctness,
        "decoy_kernel": False,
        "reference_runtime": None if found.ref_runtime < 0 else found.ref_runtime,
        "kernel_runtime": None if found.runtime < 0 else found.runtime,
        "speedup": _task.speedup_of(result),
        "metadata": {"device": result.device, "backend": "cuda", "kgen": found.metadata["kgen"]},
        "error_message": result.error.text if result.error else None,
        "error_code": None if result.error is None else code if found.compiled else "COMPILATION_ERROR",
        "processing_time": (result.timing_s or {}).get("total"),
    }


def app(client: AsyncClient | None = None, level: str = "judge") -> Starlette:
    """The ASGI app. `level="time"` measures, on a GPU, unless a task asks not to."""
    judge = client or _task.default_async_client(sys.executable)
    tasks: OrderedDict[str, dict[str, Any]] = OrderedDict()

    async def evaluate(request: Request) -> JSONResponse:
        body = await _http.body_of(request)
        task_id, reference, kernel = (body.get(name) for name in ("task_id", "reference_code", "kernel_code"))
        if not (isinstance(task_id, str) and isinstance(reference, str) and isinstance(kernel, str)):
            raise ValueError("`task_id`, `reference_code` and `kernel_code` must be text")
        known = tasks.get(task_id, {"status": "processing"})
        if known["status"] == "processing" or body.get("force_refresh"):
            tasks[task_id] = {"task_id": task_id, "status": "processing"}
            try:
                tasks[task_id] = known = await run(task_id, reference, kernel, body)
            except Exception:
                tasks.pop(task_id, None)
                raise
            while len(tasks) > KEPT:
                tasks.popitem(last=False)
        return JSONResponse(known)

    async def run(task_id: str, reference: str, kernel: str, body: dict[str, Any]) -> dict[str, Any]:
        timed = body.get("run_performance") is not False and body.get("measure_performance") is not False
        members: dict[str, Any] = {"level": level if timed else "judge", "timeout": float(body.get("timeout") or 300)}
        try:
            entry_point = body.get("entry_point") or "Model"
            text = await asyncio.to_thread(definition, reference, entry_point=entry_point)
            result = await judge.evaluate(_task.source(kernel), problem={"definition": text}, **members)
        except (CommandError, InfraError) as error:
            if isinstance(error, InfraError) and error.retryable:
                raise
            code = "SYSTEM_ERROR" if isinstance(error, InfraError) else "VALIDATION_ERROR"
            return {"task_id": task_id, "status": "failed", "error_code": code, "error_message": str(error)}
        return response_of(task_id, result)

    async def found(request: Request) -> JSONResponse:
        task_id = request.path_params["task_id"]
        task = tasks.get(task_id)
        if task is None:
            return JSONResponse({"detail": f"Task {task_id} not found"}, 404)
        brief = request.url.path.startswith("/status/")
        return JSONResponse({"task_id": task_id, "status": task["status"]} if brief else task)

    paths = [Route("/status/{task_id}", found), Route("/results/{task_id}", found)]
    return _http.make_app([Route("/evaluate", evaluate, methods=["POST"]), *paths])
