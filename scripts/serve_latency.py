#!/usr/bin/env python3
"""Times evaluations by `kgen serve` of right kernels of elementwise ops and reductions:
    scripts/serve_latency.py KGEN OUT NAME SECONDS alone|together catalogue|small [-- FLAGS OF SERVE]
KGEN: the binary. OUT: a folder for NAME.json, written again after each evaluation, and NAME.log, the server's output.
SECONDS: time for all, the server's start with it. `alone` asks for one kernel after another, each op in its turn, while
there is time; the first of each op, which makes what others find made, is told apart. `together` asks for 40 at once,
after one of each op. Ops are recorded kernels of the catalogue (GROUPS), or the two of serve_problems.py. Requests are the
smallest that are honest: one type (f32), the level `time` (`judge` where FLAGS name no GPU), all cases, a fresh seed. Each
kernel has another constant, and so is compiled anew.
"""
import pathlib
import sys
import tempfile
import threading
import time

from serve_kernels import RIGHT
from serve_problems import SMALL
from serve_process import Gone, Serve, quantile, write

TOGETHER = 40
GROUPS = {
    "catalogue": {"elementwise": ["relu", "gelu", "add"], "reduction": ["sum", "softmax", "mse_loss"]},
    "small": {"elementwise": ["small_relu"], "reduction": ["small_row_sum"]},
}
ASKED = SMALL | {op: ({"op": op}, source) for op, source in RIGHT}


class Latency:
    def __init__(self, out, name, seconds, mode, ops, flags):
        self.path, self.end, self.mode = out / f"{name}.json", time.monotonic() + seconds, mode
        gpu = any("cuda" in flag for flag in flags)
        self.members = {"level": "time" if gpu else "judge", "dtypes": ["f32"]}
        # Work on the device: the emulator takes the GPU's place.
        self.stages = ("execute", "time") if gpu else ("emulate",)
        self.groups = GROUPS[ops]
        self.ops = [op for ops in zip(*self.groups.values()) for op in ops]
        self.head = {"server_flags": " ".join(flags), "request": self.members, "ops": ops, "mode": mode}
        self.lock, self.first, self.rows, self.began = threading.Lock(), [], [], 0.0

    def left(self):
        return self.end - time.monotonic()

    def evaluate(self, server, op, number, rows):
        members, source = ASKED[op]
        # Of an earlier run's kernel the compiled module may be at hand.
        source = f"{source}\n__device__ const long long kernel_number = {time.time_ns()}ll;\n"
        request = {**members, "source": source, **self.members, "deadline_s": max(1.0, self.left())}
        sent = time.monotonic()
        try:
            status, job = server.call(f"/v1/evaluate?wait={max(0, int(self.left()))}", request, max(2.0, self.left()))
        except Gone as error:
            status, job = 0, {"error": str(error)}
        row = {"op": op, "number": number, "status": status, "latency_s": round(time.monotonic() - sent, 4)}
        with self.lock:
            rows.append(row | (job.get("result") or {"answer": job}))
            self.write()

    def alone(self, server):
        number = 0
        while self.left() > 3 and len(self.failed()) < 10:
            op = self.ops[number % len(self.ops)]
            self.evaluate(server, op, number, self.rows if number >= len(self.ops) else self.first)
            number += 1

    def together(self, server):
        for number, op in enumerate(self.ops):
            self.evaluate(server, op, number, self.first)
        self.began = time.monotonic()
        asked = [(server, self.ops[number % len(self.ops)], 1000 + number, self.rows) for number in range(TOGETHER)]
        threads = [threading.Thread(target=self.evaluate, args=args) for args in asked]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def failed(self):
        return [row for row in self.first + self.rows if row.get("verdict") != "passed"]

    def write(self):
        passed = [row for row in self.rows if row.get("verdict") == "passed"]
        report = {**self.head, "asked": len(self.first + self.rows), "failed": len(self.failed())}
        report["devices"] = sorted({row["device"] for row in passed})
        if self.began:
            device = sum(row["timing_s"].get(stage, 0.0) for row in passed for stage in self.stages)
            wall = time.monotonic() - self.began
            report["at_once"] = {"passed": len(passed), "wall_s": round(wall, 3), "device_stages": self.stages}
            report["at_once"]["device_stages_s"] = round(device, 3)
            report["at_once"]["wall_over_device_stages"] = round(wall / device, 3) if device else None
        for group, ops in self.groups.items():
            report[group] = summary([row for row in passed if row["op"] in ops])
        report["by_op"] = {op: summary([row for row in passed if row["op"] == op]) for op in self.ops}
        report |= {"first_s": {row["op"]: row["latency_s"] for row in self.first}, "failures": self.failed()[:5]}
        write(self.path, report | {"rows": [{k: v for k, v in row.items() if k != "feedback"} for row in self.rows]})
        self.report = report


def summary(rows):
    """Medians in seconds."""
    stages = sorted({stage for row in rows for stage in row["timing_s"]})
    split = {stage: quantile([row["timing_s"].get(stage, 0.0) for row in rows], 0.5) for stage in stages}
    latencies = [row["latency_s"] for row in rows]
    found = {"n": len(rows), "latency_p50": quantile(latencies, 0.5), "latency_p90": quantile(latencies, 0.9)}
    return found | {"stages_p50": split}


def main():
    arguments, flags = sys.argv[1:], []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, flags = arguments[:at], arguments[at + 1 :]
    kgen, out, name, seconds, mode, ops = arguments
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    latency = Latency(out, name, float(seconds), mode, ops, flags)
    with tempfile.TemporaryDirectory() as state, open(out / f"{name}.log", "w") as log:
        began = time.monotonic()
        server = Serve(kgen, state, log, ["--drain", "1", *flags])
        latency.head["start_s"] = round(time.monotonic() - began, 2)
        getattr(latency, mode)(server)
        server.end()
    for member, value in latency.report.items():
        if member not in ("by_op", "failures"):
            print(f"{name}: {member} {value}")
    sys.exit(1 if latency.failed() else 0)


if __name__ == "__main__":
    main()
