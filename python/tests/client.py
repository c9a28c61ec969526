"""A client of the side process, and tensors in files that both map."""

import base64
import json
import os
import pathlib
import select
import socket
import subprocess
import sys
import tempfile

PYTHON = pathlib.Path(__file__).resolve().parents[1]
REPOSITORY = PYTHON.parent
TIMEOUT_S = 120


class Process:
    """A side process on the CPU in a folder of its own."""

    def __init__(self, *, device="cpu", flags=(), path=None):
        self.folder = tempfile.TemporaryDirectory(prefix="kgen-side-")
        self.socket = os.path.join(self.folder.name, "socket")
        environment = dict(os.environ, PYTHONPATH=path or "")
        command = [sys.executable, *flags, "-u", str(PYTHON / "side.py"), "--socket", self.socket, "--device", device]
        self.child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self.folder.name,
            env=environment,
        )

    def first_line(self):
        """What the process says of itself."""
        ready, _, _ = select.select([self.child.stdout], [], [], TIMEOUT_S)
        assert ready, "no line within the time limit"
        return json.loads(self.child.stdout.readline())

    def end(self):
        """Closes its standard input, as the death of the parent would; returns the exit status."""
        if not self.child.stdin.closed:
            self.child.stdin.close()
        try:
            return self.child.wait(timeout=20)
        finally:
            self.child.kill()
            self.child.wait()
            self.child.stdout.close()
            self.folder.cleanup()


class Client:
    """One connection."""

    def __init__(self, process):
        self.folder = process.folder.name
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(TIMEOUT_S)
        self.socket.connect(process.socket)
        self.lines = self.socket.makefile("rb")
        self.next_id = 1
        self.n_files = 0

    def close(self):
        self.lines.close()
        self.socket.close()

    def send(self, line):
        """The reply to a line as it stands."""
        self.socket.sendall(line + b"\n")
        return json.loads(self.lines.readline())

    def ask(self, do, **fields):
        """The reply to a request: an object with `ok` or `error`."""
        number, self.next_id = self.next_id, self.next_id + 1
        reply = self.send(json.dumps({"id": number, "do": do, **fields}).encode())
        assert reply["id"] == number, reply
        return reply

    def ok(self, do, **fields):
        reply = self.ask(do, **fields)
        assert "ok" in reply, reply
        return reply["ok"]

    def place(self, data):
        """A place in a file that holds `data` behind 64 other bytes."""
        self.n_files += 1
        path = os.path.join(self.folder, f"tensor-{id(self)}-{self.n_files}")
        with open(path, "wb") as file:
            file.write(b"\xee" * 64 + data)
        return {"shm": path, "byte_offset": 64, "bytes": len(data)}

    def prepare(self, op, args, outputs, **fields):
        """Asks for an implementation, by default that of aten."""
        request = {"impl": "aten", "op": op, "aten": f"{op}.default", "precision": "strict", **fields}
        return self.ask("prepare", args=args, outputs=outputs, **request)

    def compute(self, op, args, outputs, **fields):
        """The bytes of the outputs of one call."""
        handle = self.prepare(op, args, outputs, **fields)
        assert "ok" in handle, handle
        self.ok("run", handle=handle["ok"]["handle"])
        self.ok("drop", handle=handle["ok"]["handle"])
        return [stored(output["at"]) for output in outputs]


def stored(place):
    """The bytes that lie in a place now."""
    with open(place["shm"], "rb") as file:
        file.seek(place["byte_offset"])
        return file.read(place["bytes"])


def contiguous(shape):
    stride = [1] * len(shape)
    for i in reversed(range(len(shape) - 1)):
        stride[i] = stride[i + 1] * max(shape[i + 1], 1)
    return stride


def tensor(client, record):
    """A tensor of the golden vectors as an argument of the protocol."""
    layout = {"stride": record.get("stride", contiguous(record["shape"])), "offset": record.get("offset", 0)}
    place = client.place(base64.b64decode(record["data"]))
    return {"dtype": record["dtype"], "shape": record["shape"], **layout, "at": place}


def value(client, recorded):
    """An argument of the golden vectors in the protocol's form."""
    if isinstance(recorded, dict):
        if "data" in recorded:
            return {"tensor": tensor(client, recorded)}
        if "list" in recorded:
            return {"tensors": [None if item is None else tensor(client, item) for item in recorded["list"]]}
        return recorded
    forms = {bool: "bool", int: "int", float: "float", str: "str", list: "ints", type(None): "none"}
    return {forms[type(recorded)]: recorded}


def output(client, record):
    """A place for an output, filled with 0xff."""
    size = len(base64.b64decode(record["data"]))
    return {"dtype": record["dtype"], "shape": record["shape"], "at": client.place(b"\xff" * size)}
