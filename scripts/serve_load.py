#!/usr/bin/env python3
"""Has `kgen serve` judge many kernels of known verdict, and reports losses, mistakes, times and memory:
    scripts/serve_load.py KGEN OUT [EVALUATIONS] [CLIENTS] [-- FLAGS OF SERVE]
KGEN: the binary. OUT: a folder for report.json, written again every EVERY evaluations, memory.csv and the server's
output. EVALUATIONS: 10,000 by default; CLIENTS: callers at once, 8 by default. Of 200 kernels 101 are right, 50 wrong, 24
read out of bounds, 22 do not compile, 2 never end, and 1 has the compiler work until its limit. The exit code is 1 if an
answer was lost, another's, or wrong.
"""
import pathlib
import random
import statistics
import sys
import tempfile
import threading
import time

import serve_kernels
from serve_process import Gone, Serve, quantile, write

KINDS = {"right": 101, "wrong": 50, "faulting": 24, "broken": 22, "hanging": 2, "bomb": 1}
EVERY = 50


class Load:
    def __init__(self, server, out, n):
        self.server, self.out, self.lock = server, out, threading.Lock()
        order = [kind for kind, count in KINDS.items() for _ in range(count)]
        random.Random(1).shuffle(order)
        self.todo = [(number, order[number % len(order)]) for number in reversed(range(n))]
        self.n, self.began = n, time.monotonic()
        self.faults, self.jobs, self.times, self.memory = [], {}, {kind: [] for kind in KINDS}, []
        self.csv = open(out / "memory.csv", "w", buffering=1)
        self.csv.write("ended,seconds,rss,tree_rss,processes,descriptors\n")

    def client(self):
        while True:
            with self.lock:
                if not self.todo:
                    return
                number, kind = self.todo.pop()
            try:
                fault = self.evaluate(number, kind)
            except Gone as error:
                fault = f"no answer: {error}"
            with self.lock:
                if fault:
                    self.faults.append(f"{number} ({kind}): {fault}")

    def evaluate(self, number, kind):
        """Returns a mistake of the answer, if there is one."""
        op, source, verdicts = serve_kernels.kernel(kind, number)
        request = {"op": op, "source": source, "suite": "smoke", "dtypes": ["f32"], "seed": number}
        began = time.monotonic()
        status, job = self.server.call("/v1/evaluate?wait=300", request)
        if status == 202:
            status, job = self.server.ended(job["id"])
        latency = time.monotonic() - began
        if status != 200 or job["state"] != "done":
            return f"{status} {job.get('state')} {str(job.get('error') or job.get('result'))[:300]}"
        result = job["result"]
        with self.lock:
            known = self.jobs.setdefault(job["id"], (number, result["verdict"]))
            self.times[kind].append((latency, result["timing_s"]["total"], result["timing_s"].get("queue", 0.0)))
            if len(self.jobs) % 10 == 0:
                self.sample()
            if len(self.jobs) % EVERY == 0:
                write(self.out / "report.json", self.report())
        if known[0] != number:
            return f"the job of {known[0]}"
        if result["verdict"] not in verdicts:
            return f"{result['verdict']}: {str(result['error'])[:300]}"
        if (job["op"], result["seed"]) != (op, number):
            return f"answers op {job['op']} with seed {result['seed']}"
        if kind == "wrong" and str(number + 1_000_000) not in result["feedback"]:
            return "the finding is another kernel's"
        return None

    def sample(self):
        found = self.server.memory()
        self.memory.append(found)
        seconds = time.monotonic() - self.began
        numbers = [found["rss"], found["tree_rss"], found["processes"], found["descriptors"]]
        self.csv.write(f"{len(self.jobs)},{seconds:.1f}," + ",".join(f"{number:g}" for number in numbers) + "\n")

    def look_again(self):
        """Each job has the result that it had."""
        for id, (number, verdict) in self.jobs.items():
            status, job = self.server.call(f"/v1/jobs/{id}")
            if status != 200 or job["result"]["verdict"] != verdict or job["result"]["seed"] != number:
                self.faults.append(f"{number}: {id} has another result later, {status}")
        health = self.server.call("/health")[1]
        numbers = {"accepted": "kgen_jobs_accepted_total", "finished": "kgen_jobs_finished_total"}
        return {name: self.server.metric(metric) for name, metric in numbers.items()} | {
            "left": health["queued"] + health["running"]
        }

    def report(self):
        ended = sum(len(times) for times in self.times.values())
        wall = time.monotonic() - self.began
        report = {"server": self.server.line, "asked": self.n, "ended": ended, "faults": len(self.faults)}
        report |= {"first_faults": self.faults[:20], "wall_s": round(wall, 1), "per_s": round(ended / wall, 2)}
        for kind, times in self.times.items():
            row = report.setdefault("by_kind", {})[kind] = {"n": len(times)}
            for name, values in zip(("latency_s", "service_s", "queue_s"), zip(*times)):
                row[name] = {"p50": quantile(values, 0.5), "p90": quantile(values, 0.9)}
        # A thousand evaluations are a hundred samples; of a short load, its tenth.
        part = max(1, min(100, len(self.memory) // 10))
        for name in ("rss", "tree_rss", "descriptors") if self.memory else ():
            first, last = ([row[name] for row in rows] for rows in (self.memory[:part], self.memory[-part:]))
            first, last = statistics.median(first), statistics.median(last)
            report.setdefault("memory_mib", {})[name] = {"first": first, "last": last, "ratio": round(last / first, 3)}
        report["samples_first_and_last"] = part
        return report


def main():
    arguments, flags = sys.argv[1:], []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, flags = arguments[:at], arguments[at + 1 :]
    kgen, out, *numbers = arguments
    n, clients = (int(number) for number in (numbers + ["10000", "8"][len(numbers) :])[:2])
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as state, open(out / "serve.log", "w") as log:
        server = Serve(kgen, state, log, flags)
        load = Load(server, out, n)
        threads = [threading.Thread(target=load.client) for _ in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        report = load.report() | load.look_again()
        report |= {"faults": len(load.faults), "first_faults": load.faults[:20], "exit_code": server.end()}
    write(out / "report.json", report)
    print((out / "report.json").read_text())
    lost = report["ended"] != n or report["accepted"] != n or report["finished"] != n or report["left"]
    sys.exit(1 if lost or load.faults or report["exit_code"] else 0)


if __name__ == "__main__":
    main()
