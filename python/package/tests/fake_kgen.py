"""Plays the program `kgen`, and writes each call into `$FAKE_KGEN_CALLS`."""

import json
import os
import signal
import sys
import time


def document(data, exit_code=0, error=None):
    print(json.dumps({"exit_code": exit_code, "data": data, "warnings": ["w"], "error": error, "later": 1}))
    sys.exit(exit_code)


def main(arguments):
    def flag(name):
        return arguments[arguments.index(name) + 1] if name in arguments else None

    with open(os.environ["FAKE_KGEN_CALLS"], "a") as file:
        token = os.environ.get("KGEN_SERVE_TOKEN")
        file.write(json.dumps({"arguments": arguments, "pid": os.getpid(), "token": token}) + "\n")
    command = arguments[0]
    if command == "serve" and flag("--device") == "none":
        sys.exit("there is no such device")
    if command == "serve":
        from fake import Fake

        url = Fake(os.environ["KGEN_SERVE_TOKEN"]).url
        stubborn = flag("--device") == "stubborn"
        received = []

        def end(*_):
            received.append(1)
            if not stubborn or len(received) > 1:
                os._exit(0)

        signal.signal(signal.SIGTERM, end)
        print(f"kgen serve listens on {url} (emu, 2 workers); jobs are kept in {flag('--state')}", flush=True)
        while True:
            time.sleep(60)
    if command == "generate":
        if flag("--provider") == "nokey":
            document(None, 4, {"kind": "llm", "message": "no key", "causes": ["none is set"], "hints": ["set one"]})
        speedup = {"baseline": "aten", "geomean": 1.5, "interval": [1.4, 1.6]}
        row = {"op": "relu", "verdict": "passed", "attempts": 2, "best_attempt": 2, "speedups": [speedup], "later": 1}
        rows = [row, {"op": "add", "verdict": "wrong_output", "attempts": 5, "speedups": []}]
        document({"run": "run_1", "ops": rows, "n_passed": 1}, 1)
    if command == "export":
        with open(flag("-o"), "w") as file:
            file.write(
                "class ModelNew:\n    pass\n" if flag("--op") == "net" else "def call(x):\n    return max(x, 0)\n"
            )
        document({"run": "run_1", "modules": []})
    if command == "import":
        with open(arguments[2].rpartition(":")[0]) as file:
            text = file.read()
        path = os.path.join(flag("--output"), "mine.toml")
        with open(path, "w") as file:
            file.write('name = "mine"\n')
        bad = "dropout" in text
        problems = [] if bad else [{"op": "mine", "file": path, "notes": ""}]
        document(
            [{"name": "s", "file": None, "problems": problems, "failed": ["live dropout"] if bad else []}], int(bad)
        )


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    main(sys.argv[1:])
