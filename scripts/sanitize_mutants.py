#!/usr/bin/env python3
"""What compute-sanitizer says about mutants whose outputs are right: an independent opinion on which are undefined.

    sanitize_mutants.py EMU_CHECK OUT SECONDS

EMU_CHECK: the binary of crates/emu-check, which has written OUT/mutants.json. Runs `emu-check run ID,.. --bare` under each
tool of compute-sanitizer and writes OUT/sanitizer.json: per tool and mutant the reports, each with its lines of the kernel file, and for every
mutant that was reached an entry, if only an empty one. OUT/sanitizer.log.gz holds the tools' own words. Each
mutant's kernel is named after it, so that reports are told apart by name; what names none belongs to the
mutant that was running.
"""

import concurrent.futures
import gzip
import json
import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TOOLS = ["memcheck", "racecheck", "initcheck", "synccheck"]
PROCESSES_PER_TOOL = 4
# Mutants that share a process, and so what its death or a flood of reports costs.
PER_PROCESS = 12
# Seconds without a word after which a mutant counts as hanging.
SILENCE = 25
NAME = re.compile(r"\b(\w+?)__([a-z_]+?)__(\d+)\b")
LINE = re.compile(r"k\.cu:(\d+)")


def find_sanitizer():
    for path in [shutil.which("compute-sanitizer"), "/usr/local/cuda/bin/compute-sanitizer",
                 "/usr/local/cuda/extras/compute-sanitizer/compute-sanitizer"]:
        if path and os.path.exists(path):
            return path
    return None


def run_once(command, deadline):
    """Runs a process; returns the mutants it finished, the one it was at when it ended, and its output."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    selector = selectors.DefaultSelector()
    selector.register(process.stdout, selectors.EVENT_READ)
    done, current, output, buffer = [], None, [], b""
    while True:
        left = min(SILENCE, deadline - time.monotonic())
        if left <= 0 or not selector.select(left):
            os.killpg(process.pid, signal.SIGKILL)
            break
        data = os.read(process.stdout.fileno(), 1 << 16)
        if not data:
            break
        *lines, buffer = (buffer + data).split(b"\n")
        for line in (raw.decode(errors="replace") for raw in lines):
            output.append(line)
            if line.startswith("begin "):
                current = line.split()[1]
            elif line.startswith("end ") and current:
                done.append(current)
                current = None
    process.wait()
    return done, current, output


def parse(lines):
    """The reports in a tool's output: id -> [{what, lines}]."""
    blocks, reports, current = [], {}, None
    for line in lines:
        if line.startswith(("begin ", "end ")):
            current = line.split()[1] if line.startswith("begin ") else None
            continue
        if not line.startswith("========="):
            continue
        text = line[9:].rstrip()
        if text.startswith("     ") and blocks:
            blocks[-1][1].append(text.strip())
        else:
            blocks.append((current, [text.strip()]))
    for running, block in blocks:
        # The place is in the first lines; what follows are call stacks of the host.
        head = "\n".join(block[:4])
        # A report names its kernel, unless that stands in a device function; else it belongs to the
        # mutant that was running.
        match = NAME.search(head)
        name = ".".join(match.groups()) if match else running
        if not name or not LINE.search(head):
            continue
        report = {"what": block[0], "lines": sorted({int(n) for n in LINE.findall(head)})}
        known = reports.setdefault(name, [])
        if report not in known and len(known) < 8:
            known.append(report)
    return reports


def work(sanitizer, emu_check, tool, ids, deadline):
    reports, reached, ended, output = {}, [], {}, []
    # No limit: it would hold for the whole process, and the first mutants would use it up.
    options = ["--tool", tool, "--print-limit", "0"]
    if tool == "memcheck":
        options += ["--destroy-on-device-error", "kernel", "--report-api-errors", "no"]
    rest = list(ids)
    while rest and time.monotonic() < deadline:
        command = [sanitizer, *options, emu_check, "run", ",".join(rest[:PER_PROCESS]), "--bare", "--seed", "1"]
        done, current, lines = run_once(command, deadline)
        output += lines
        for name, found in parse(lines).items():
            reports.setdefault(name, []).extend(found)
        if current:
            ended[current] = "its process ended or hung"
            done.append(current)
        if not done:
            break
        reached += done
        rest = [name for name in rest if name not in done]
    return {name: reports.get(name, []) for name in reached}, ended, output


def main():
    emu_check, out, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
    deadline = time.monotonic() + seconds
    sanitizer = find_sanitizer()
    result = {"version": None, "tools": {}, "ended": {}}
    path = os.path.join(out, "sanitizer.json")
    if sanitizer is None:
        result["error"] = "compute-sanitizer is not installed"
        print(result["error"])
        json.dump(result, open(path, "w"), indent=1)
        return
    version = subprocess.run([sanitizer, "--version"], capture_output=True, text=True)
    result["version"] = version.stdout.strip().splitlines()[-1:]
    runs = json.load(open(os.path.join(out, "mutants.json")))
    ids = [run["id"] for run in runs if run["outcome"] == "same"]
    logs = tempfile.TemporaryFile("w+")
    with concurrent.futures.ThreadPoolExecutor(len(TOOLS) * PROCESSES_PER_TOOL) as pool:
        jobs = {}
        for tool in TOOLS:
            for n in range(PROCESSES_PER_TOOL):
                share = ids[n::PROCESSES_PER_TOOL]
                jobs[pool.submit(work, sanitizer, emu_check, tool, share, deadline)] = tool
        for job in concurrent.futures.as_completed(jobs):
            tool = jobs[job]
            found, ended, output = job.result()
            result["tools"].setdefault(tool, {}).update(found)
            result["ended"].setdefault(tool, {}).update(ended)
            logs.write(f"\n#### {tool}\n" + "\n".join(output) + "\n")
            with open(path, "w") as file:
                json.dump(result, file, indent=1, sort_keys=True)
    logs.seek(0)
    # A first and a last part, where it is too long to be kept.
    text = logs.read()
    text = text if len(text) < 60_000_000 else text[:30_000_000] + "\n...\n" + text[-30_000_000:]
    with gzip.open(os.path.join(out, "sanitizer.log.gz"), "wt") as file:
        file.write(text)
    for tool in TOOLS:
        found = result["tools"].get(tool, {})
        print(f"{tool}: {len(found)} of {len(ids)} mutants run, {sum(map(bool, found.values()))} reported")


main()
