#!/usr/bin/env python3
"""Has one kgen evaluate many kernels, and reports whether memory, files and processes stay as they were:
    scripts/soak.py KGEN OUT [EVALUATIONS] [JOBS]
KGEN: the binary; OUT: a folder for samples.csv and the report; EVALUATIONS: 50,000 by default; JOBS:
workers, one per core by default. An experiment of runs of 1,000 attempts (40 ops, one small case each) on the
emulator, with replies from a server in this process: of 20 kernels one does not compile, one reads out of
bounds, one never ends, one is no kernel file at all, and the others are wrong. Needs NVRTC where kgen finds
it (`kgen setup`, KGEN_NVRTC).
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

OPS = (
    "relu gelu silu sigmoid tanh exp abs neg sin cos sqrt rsqrt log log2 log10 log1p exp2 expm1 erf erfc "
    "floor ceil round trunc sign reciprocal square asin acos atan sinh cosh asinh acosh atanh frac mish "
    "hardswish hardsigmoid tan"
).split()
ATTEMPTS = 25
EVERY_S = 5.0

KERNEL = """/*@plan
x = contiguous(self)
n = x.numel
launch("k", grid=cdiv(n, 64), block=64, args=[x, out, n])
@*/
extern "C" __global__ void k(const T_self* x, T_out* y, long long n) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + (T_out)NUMBER;
}
"""
lock = threading.Lock()
n_replies = 0


def reply():
    global n_replies
    with lock:
        n_replies += 1
        number = n_replies
    kernel = KERNEL.replace("NUMBER", str(number))
    match number % 20:
        case 3:
            kernel = kernel.replace("long long i", "lung lung i")
        case 7:
            kernel = kernel.replace("x[i]", "x[i + 1000]")
        case 11:
            kernel = kernel.replace("if (i < n)", "while (x[0] == x[0] || n) if (i < n)")
        case 17:
            return "No kernel comes to my mind."
    return f"```cuda\n{kernel}```\n"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        choice = {"message": {"content": reply()}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1000, "completion_tokens": 300}
        body = json.dumps({"model": "m", "choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def processes(root):
    """The processes of kgen: it and all below it."""
    children = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found, new = [], [root]
    while new:
        pid = new.pop()
        found.append(pid)
        new += children.get(pid, [])
    return found


def sample(root, scratch):
    """Megabytes of kgen itself and of all processes, open files, processes, scratch files."""
    sizes, files = [], 0
    for pid in processes(root):
        try:
            pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1])
            sizes.append(pages * os.sysconf("SC_PAGE_SIZE") / 2**20)
            files += len(os.listdir(f"/proc/{pid}/fd"))
        except (OSError, IndexError):
            continue
    n_scratch = sum(len(names) + len(folders) for _, folders, names in os.walk(scratch))
    return sizes[0] if sizes else 0.0, sum(sizes), files, len(sizes), n_scratch


def main():
    kgen, out = os.path.realpath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    wanted = int(sys.argv[3]) if len(sys.argv) > 3 else 50_000
    jobs = int(sys.argv[4]) if len(sys.argv) > 4 else os.cpu_count()
    out.mkdir(parents=True, exist_ok=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        work, scratch = pathlib.Path(folder), pathlib.Path(folder, "tmp")
        scratch.mkdir()
        entries = "".join(f'[[ops]]\nname = "{op}"\ncases = [{{ self = "[100]" }}]\n' for op in OPS)
        head = 'format = 1\nname = "soak"\ndescription = "Small."\ndtypes = ["f32"]\n'
        (work / "soak.toml").write_text(head + entries)
        seeds = list(range(1, -(-wanted // (ATTEMPTS * len(OPS))) + 1))
        (work / "experiment.toml").write_text(f"""name = "soak"
[llm]
provider = "vllm"
model = "m"
base_url = "http://127.0.0.1:{server.server_address[1]}/v1"
[suite]
suite = "{work}/soak.toml"
[device]
device = "emu"
[limits]
emu_lane_instructions = 1000000
[run]
max_attempts = {ATTEMPTS}
max_concurrent_ops = {len(OPS)}
[matrix]
seeds = {seeds}
ops = {json.dumps(OPS)}
""")
        environment = {**os.environ, "TMPDIR": str(scratch)}
        command = [kgen, "experiment", "experiment.toml", "--jobs", str(jobs), "--output-dir", "runs"]
        with open(out / "kgen.log", "w") as log:
            began = time.time()
            child = subprocess.Popen(command, cwd=work, env=environment, stdout=log, stderr=log)
            signal.signal(signal.SIGTERM, lambda *_: child.terminate())
            samples = []
            while child.poll() is None:
                time.sleep(EVERY_S)
                row = (time.time() - began, n_replies, *sample(child.pid, scratch))
                samples.append(row)
        seconds = time.time() - began
        records = work.glob("runs/soak/*/*/*_attempt_*.eval.json")
        n_evaluations = sum(1 for _ in records)
        left = [str(path.relative_to(scratch)) for path in scratch.rglob("*")]
    samples = samples[:-1]
    names = ["seconds", "replies", "kgen_mib", "all_mib", "open_files", "processes", "scratch_files"]
    lines = [",".join(names)] + [",".join(f"{value:.4g}" for value in row) for row in samples]
    (out / "samples.csv").write_text("\n".join(lines) + "\n")
    report = [f"{n_evaluations} evaluations in {seconds:.0f} s, {jobs} workers, exit code {child.returncode}"]
    tenth = max(1, len(samples) // 10)
    first, last = samples[tenth : 2 * tenth], samples[-tenth:]
    for at, name in enumerate(names[2:], 2):
        mean = [sum(row[at] for row in part) / max(1, len(part)) for part in (first, last)]
        report.append(f"{name}: {mean[0]:.1f} in the second tenth, {mean[1]:.1f} in the last")
    report.append(f"files left in the scratch folder: {len(left)} {left[:5]}")
    (out / "report.txt").write_text("\n".join(report) + "\n")
    print("\n".join(report))
    # 1: no op is solved.
    return 0 if child.returncode == 1 and n_evaluations >= 0.9 * wanted else 1


sys.exit(main())
