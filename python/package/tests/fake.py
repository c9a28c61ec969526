"""A server of the contract without a judge: a mark in the source decides.

`@busy` 429 once, `@down` a retryable failure once, `@broken` one always, `@unsupported`, `@deadline`, `@slow` ends
after a second, `@wrong`, `@nocompile`, `@fast` with times, `@lost` closes the connection once; else right.
"""

from __future__ import annotations

import hashlib
import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

MEMBERS = {
    "op",
    "problem",
    "source",
    "level",
    "dtypes",
    "suite",
    "precision",
    "seed",
    "deadline_s",
    "idempotency_key",
}
RIGHT: dict[str, Any] = {
    "compiled": True,
    "correct": True,
    "verdict": "passed",
    "stage": "emulate",
    "cases": {"passed": 9, "total": 9, "skipped": 1},
    "worst_error_over_bound": 0.25,
    "speedup": None,
    "baseline_us": None,
    "kernel_us": None,
    "floor_us": None,
    "flags": [],
    "error": None,
    "infra_error": None,
    "timing_s": {"queue": 0.0, "total": 0.1},
    "feedback": "all right",
    "device": "emu",
    "seed": 7,
    "a_later_member": 1,
}


def error(kind: str, **more: Any) -> dict[str, Any]:
    return {"error": {"kind": kind, "text": kind, **more}}


def failed(kind: str, retryable: bool) -> dict[str, Any]:
    failure = {"kind": kind, "text": kind, "retryable": retryable}
    return {**RIGHT, "compiled": None, "correct": None, "verdict": None, "infra_error": failure, "feedback": ""}


def outcome(source: str, times: int) -> dict[str, Any]:
    if "@wrong" in source:
        told = {"kind": "wrong_output", "text": "element 3"}
        return {**RIGHT, "correct": False, "verdict": "wrong_output", "error": told, "feedback": "element 3"}
    if "@nocompile" in source:
        told = {"kind": "compile_error", "text": "line 1"}
        return {**RIGHT, "compiled": False, "correct": None, "verdict": "compile_error", "error": told}
    if "@fast" in source:
        speedup = {"baseline": "aten", "median": 2.1, "interval": [2.0, 2.2], "verdict": "faster"}
        return {**RIGHT, "speedup": speedup, "baseline_us": 40.0, "kernel_us": 19.0, "floor_us": 10.0}
    if "@broken" in source or ("@down" in source and times == 1):
        return failed("worker", True)
    for kind, retryable in (("unsupported", False), ("deadline", True)):
        if "@" + kind in source:
            return failed(kind, retryable)
    return RIGHT


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Fake

    def log_message(self, *args: Any) -> None:
        pass

    def answer(self, status: int, body: Any, retry_after: str | None = "0") -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if status in (429, 503) and retry_after is not None:
            self.send_header("Retry-After", retry_after)
        self.end_headers()
        self.wfile.write(data)

    def submit(self, body: dict[str, Any]) -> tuple[int, Any]:
        for name in body.keys() - MEMBERS:
            return 422, error("invalid_request", field=name)
        if ("op" in body) == ("problem" in body):
            return 422, error("invalid_request", field="op")
        if body.get("op", "relu") not in ("relu", "add"):
            return 422, error("unknown_op", field="op", hint="relu")
        if "@python" in body["source"]:
            return 403, error("python_not_allowed", field="problem.definition")
        same = {name: value for name, value in body.items() if name not in ("deadline_s", "idempotency_key")}
        key = "j_" + hashlib.sha256(json.dumps(same, sort_keys=True).encode()).hexdigest()[:16]
        times = self.server.seen[key] = self.server.seen.get(key, 0) + 1
        if "@busy" in body["source"] and times == 1:
            return 429, error("queue_full")
        job = self.server.jobs.get(key)
        if job is None or (job["state"] == "failed" and job["result"]["infra_error"]["retryable"]):
            result = outcome(body["source"], times)
            ready = time.monotonic() + ("@slow" in body["source"])
            job = {"id": key, "op": "relu", "level": body.get("level", "judge"), "tries": 1, "ready": ready}
            job |= {"state": "failed" if result["infra_error"] else "done", "result": result, "created_at": "now"}
            self.server.jobs[key] = job
        return 200, job

    def view(self, job: dict[str, Any], wait: float) -> dict[str, Any]:
        end = time.monotonic() + wait
        while time.monotonic() < min(job["ready"], end):
            time.sleep(0.01)
        shown = {name: value for name, value in job.items() if name != "ready"}
        return {**shown, "state": "running", "result": None} if time.monotonic() < job["ready"] else shown

    def authorised(self) -> bool:
        token = self.server.token
        return token is None or self.headers.get("Authorization") == f"Bearer {token}"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        url = urlsplit(self.path)
        wait = parse_qs(url.query).get("wait", ["0"])[0]
        self.server.log.append((url.path, body, wait))
        if not self.authorised():
            return self.answer(401, error("unauthorized"))
        if not wait.isdecimal() or int(wait) > 300:
            return self.answer(422, error("invalid_request", field="wait"))
        if url.path == "/v1/batch":
            found = [self.submit(row) for row in body["requests"]]
            return self.answer(200, {"jobs": [self.view(j, 0) if s == 200 else j for s, j in found]})
        status, job = self.submit(body)
        if "@lost" in body["source"] and self.server.seen[job["id"]] == 1:
            self.close_connection = True
            return self.connection.shutdown(socket.SHUT_RDWR)
        if status != 200:
            return self.answer(status, job)
        job = self.view(job, int(wait))
        failure = job["result"] and job["result"]["infra_error"]
        return self.answer(
            202 if job["state"] == "running" else 503 if failure and failure["retryable"] else 200, job
        )

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        parts = url.path.strip("/").split("/")
        if parts == ["health"]:
            counts = {"workers": 2, "queued": 0, "running": 0, "max_queue": 1024}
            status = {"status": "draining" if self.server.draining else "ok", "kgen_version": "0.1.0"}
            return self.answer(503 if self.server.draining else 200, {**status, "device": "emu", **counts})
        if not self.authorised():
            return self.answer(401, error("unauthorized"))
        job = self.server.jobs.get(parts[2]) if parts[:2] == ["v1", "jobs"] else None
        if job is not None and parts[3:] == ["evaluation"]:
            return self.answer(
                *((200, {"verdict": "passed"}) if job["state"] == "done" else (404, error("no_evaluation")))
            )
        if job is not None:
            return self.answer(200, self.view(job, float(query.get("wait", "0"))))
        if parts == ["v1", "ops"]:
            row = {
                "name": "relu",
                "overload": "aten.relu.default",
                "signature": "relu(Tensor self) -> Tensor",
                "aliases": ["aten.relu.default"],
            }
            return self.answer(200, {"ops": [row]})
        if parts == ["v1", "problems"]:
            return self.answer(200, {"problems": [{"name": "mine", "op": "mine_op"}]})
        if parts[:2] == ["v1", "prompt"]:
            return self.answer(200, {"op": parts[2], "prompt": f"write {parts[2]} {query}"})
        return self.answer(404, error("not_found"))


class Fake(ThreadingHTTPServer):
    """The server; `log` has the path, body and wait of every POST."""

    daemon_threads = True

    def __init__(self, token: str | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.token, self.draining = token, False
        self.jobs: dict[str, Any] = {}
        self.seen: dict[str, int] = {}
        self.log: list[tuple[str, Any, str]] = []
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def sources(self, mark: str) -> int:
        """How often a source with this mark was posted to `/v1/evaluate`."""
        return sum(path == "/v1/evaluate" and mark in body["source"] for path, body, _ in self.log)
