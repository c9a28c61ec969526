#!/usr/bin/env python3
"""Evaluates kernels through `kgen serve` and reports latencies:
    scripts/serve_load.py KGEN OUT [EVALUATIONS] [CLIENTS] [-- FLAGS OF SERVE]
KGEN: the binary; OUT: a folder for report.json and the server's output; EVALUATIONS: 200 by default; CLIENTS: callers at
once, 8 by default. The kernels are those of the recorded session generated_kernels/demo, each time with another comment, so
that each is a job of its own; with a GPU among FLAGS (`--device cuda:0`) they are timed, too.
"""
import collections
import concurrent.futures
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent


def kernels():
    """Returns the kernel of each op's last attempt."""
    found = {}
    for path in sorted((ROOT / "generated_kernels/demo").glob("*/*_attempt_*.cu")):
        found[path.parent.name] = path.read_text()
    return sorted(found.items())


def call(address, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address + path, data, {"content-type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def evaluate(address, level, number, op, source):
    began = time.monotonic()
    request = {"op": op, "source": f"// {number}\n{source}", "level": level, "suite": "smoke", "dtypes": ["f32"]}
    job = call(address, "/v1/evaluate?wait=300", request)
    return op, time.monotonic() - began, job


def summary(values):
    values = sorted(values)
    return {"p50": statistics.median(values), "p95": values[int(0.95 * (len(values) - 1))], "sum": sum(values)}


def main():
    flags = sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else []
    kgen, out, *numbers = sys.argv[1 : len(sys.argv) - len(flags) - ("--" in sys.argv)]
    n, clients = (int(number) for number in (numbers + ["200", "8"][len(numbers) :])[:2])
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    level = "time" if any("cuda" in flag for flag in flags) else "judge"
    with tempfile.TemporaryDirectory() as state, open(out / "serve.log", "w") as log:
        command = [kgen, "serve", "--listen", "127.0.0.1:0", "--state", state, *flags]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        line = server.stdout.readline()
        address = "http://" + line.split("http://")[1].split()[0]
        given = kernels()
        # The first of each op compiles and warms up what it needs.
        for op, source in given:
            evaluate(address, level, "warm up", op, source)
        began = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(clients) as pool:
            asked = [pool.submit(evaluate, address, level, i, *given[i % len(given)]) for i in range(n)]
            found = [answer.result() for answer in asked]
        wall = time.monotonic() - began
        server.terminate()
        code = server.wait()
    report = {"server": line.strip(), "exit_code": code, "level": level, "evaluations": n, "clients": clients, "wall_s": wall}
    verdicts = collections.Counter(str(job["result"]["verdict"]) for _, _, job in found)
    report["verdicts"] = dict(verdicts)
    report["latency_s"] = summary([latency for _, latency, _ in found])
    times = [job["result"]["timing_s"] for _, _, job in found]
    report["service_s"] = summary([time["total"] for time in times])
    report["gpu_stages_s"] = summary([time.get("execute", 0) + time.get("time", 0) for time in times])
    for op, _ in given:
        report.setdefault("service_s_by_op", {})[op] = summary(
            [job["result"]["timing_s"]["total"] for of, _, job in found if of == op]
        )
    (out / "report.json").write_text(json.dumps(report, indent=1))
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
