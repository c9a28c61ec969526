#!/usr/bin/env python3
"""Kills `kgen serve` again and again while it works, and reports whether a job was lost or judged again after its end:
    scripts/serve_kills.py KGEN OUT [KILLS] [CLIENTS] [-- FLAGS OF SERVE]
KGEN: the binary. OUT: a folder for report.json, written again after each kill, and the servers' output. KILLS: `kill -9` of
the server alone, each 0.3 to 3 seconds after it takes requests, on one folder of jobs; 100 by default. CLIENTS: 4 by
default. Every accepted job must end with the right verdict, one that had ended must stay as it was, a request whose
answer a kill took must be one job when it is sent again, and nothing may outlive its server. The exit code is 1 otherwise.
"""
import os
import pathlib
import random
import sys
import tempfile
import threading
import time

import serve_kernels
from serve_process import Gone, Serve, write

KINDS = ["wrong", "right", "broken", "faulting"]
LASTING = ("id", "state", "started_at", "finished_at", "tries", "result")


def request(number):
    op, source, verdicts = serve_kernels.kernel(KINDS[number % len(KINDS)], number)
    return {"op": op, "source": source, "suite": "smoke", "dtypes": ["f32"], "seed": number}, verdicts


class Kills:
    def __init__(self):
        self.lock, self.next = threading.Lock(), 0
        # Requests without an answer, ids by number, jobs that had ended, deaths of the server while a job was not ended.
        self.unanswered, self.accepted, self.ended, self.deaths = set(), {}, {}, {}
        self.faults, self.outlived = [], 0

    def fault(self, text):
        with self.lock:
            self.faults.append(text)

    def submit(self, server, number, wait):
        with self.lock:
            self.unanswered.add(number)
        status, job = server.call(f"/v1/evaluate?wait={wait}", request(number)[0])
        with self.lock:
            if status == 429:
                self.unanswered.discard(number)
            elif status in (200, 202):
                self.unanswered.discard(number)
                if self.accepted.setdefault(number, job["id"]) != job["id"]:
                    self.faults.append(f"{number}: an equal request is another job")
                self.note(number, job)
            else:
                self.faults.append(f"{number}: {status} {str(job)[:300]}")

    def note(self, number, job):
        """Holds a job against how it was when it had ended before."""
        if job["state"] not in ("done", "failed"):
            if number in self.ended:
                self.faults.append(f"{number}: it had ended, and is {job['state']}")
            return
        lasting = {name: job[name] for name in LASTING}
        if self.ended.setdefault(number, lasting) != lasting:
            self.faults.append(f"{number}: it had ended, and has changed: {self.ended[number]} {lasting}")

    def client(self, server, seed):
        chance = random.Random(seed)
        try:
            while True:
                with self.lock:
                    number, self.next = self.next, self.next + 1
                self.submit(server, number, chance.choice((0, 5)))
                if chance.random() < 0.3:
                    with self.lock:
                        number = chance.choice(sorted(self.accepted) or [number])
                    self.submit(server, number, 0)
                time.sleep(chance.random() * 0.3)
        except Gone:
            return

    def round(self, kgen, state, log, flags, clients, number):
        """Starts a server, has clients ask it, and kills it."""
        server = Serve(kgen, state, log, flags)
        seeds = [number * 1000 + client for client in range(clients)]
        threads = [threading.Thread(target=self.client, args=(server, seed)) for seed in seeds]
        for thread in threads:
            thread.start()
        time.sleep(random.Random(number).uniform(0.3, 3.0))
        below = server.kill()
        for thread in threads:
            thread.join()
        for number in (self.accepted.keys() | self.unanswered) - self.ended.keys():
            self.deaths[number] = self.deaths.get(number, 0) + 1
        end = time.monotonic() + 5
        while (alive := [pid for pid in below if lives(pid)]) and time.monotonic() < end:
            time.sleep(0.05)
        self.outlived += len(alive)

    def look(self, server):
        """Waits for all jobs, and holds them against what was asked."""
        for number in sorted(self.unanswered):
            self.submit(server, number, 0)
        again = 0
        for number, id in sorted(self.accepted.items()):
            status, job = server.ended(id)
            if status != 200:
                self.fault(f"{number}: the accepted job {id} is lost, {status}")
                continue
            self.note(number, job)
            result, verdicts = job["result"], request(number)[1]
            again += job["tries"] > 1
            if job["state"] == "failed" and result["infra_error"]["kind"] == "server_died":
                if job["tries"] < 5:
                    self.fault(f"{number}: given up after {job['tries']} tries")
            elif job["state"] != "done" or result["verdict"] not in verdicts or result["seed"] != number:
                self.fault(f"{number}: {job['state']} {result['verdict']} {result['seed']} instead of {verdicts}")
            if not 1 <= job["tries"] <= 1 + self.deaths.get(number, 0):
                self.fault(f"{number}: {job['tries']} tries, and the server died {self.deaths.get(number, 0)} times over it")
        return again


def lives(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def main():
    arguments, flags = sys.argv[1:], []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, flags = arguments[:at], arguments[at + 1 :]
    kgen, out, *numbers = arguments
    kills, clients = (int(number) for number in (numbers + ["100", "4"][len(numbers) :])[:2])
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    kgen, found, began, done = os.path.abspath(kgen), Kills(), time.monotonic(), 0

    def report(**more):
        wall = round(time.monotonic() - began, 1)
        report = {"kills": done, "accepted": len(found.accepted), "ended_before_a_kill": len(found.ended), "wall_s": wall}
        report |= {"unanswered": len(found.unanswered), "outlived_their_server": found.outlived, **more}
        write(out / "report.json", report | {"faults": len(found.faults), "first_faults": found.faults[:20]})

    with tempfile.TemporaryDirectory() as state, open(out / "serve.log", "w") as log:
        for done in range(1, kills + 1):
            found.round(kgen, state, log, flags, clients, done)
            report()
        before, unanswered = len(found.ended), len(found.unanswered)
        server = Serve(kgen, state, log, flags)
        again = found.look(server)
        report(ended_before_a_kill=before, unanswered=unanswered, judged_again=again, exit_code=server.end())
    print((out / "report.json").read_text())
    sys.exit(1 if found.faults or found.outlived else 0)


if __name__ == "__main__":
    main()
