"""Opens the device and the socket, and serves one client after the other."""

import argparse
import contextlib
import json
import os
import socket
import threading

from .precision import facts, set_precision
from .refusal import TORCH_ERROR, Refusal, torch
from .server import Server

PROTOCOL = 1


def open_device(name):
    """The device, with a context on it."""
    if torch is None:
        raise TORCH_ERROR
    device = torch.device(name)
    if device.type != "cuda":
        return device
    if not torch.cuda.is_available():
        built = "was built without CUDA" if torch.version.cuda is None else "finds no GPU"
        raise Refusal("no_cuda", f"PyTorch {torch.__version__} {built}")
    try:
        torch.cuda.set_device(device)
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError) as error:
        raise Refusal("no_cuda", error) from error
    return device


def listen(path):
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    server.bind(path)
    os.umask(before)
    server.listen(4)
    return server


def end_with_parent():
    """Standard input closes when the parent dies: nothing else may keep this process."""
    while os.read(0, 4096):
        pass
    os._exit(0)


def serve(connection, server):
    """Answers one client until it leaves or the GPU is lost."""
    with connection, connection.makefile("rb") as lines:
        for line in lines:
            reply = server.answer(line)
            connection.sendall(json.dumps(reply).encode() + b"\n")
            if reply.get("error", {}).get("kind") == "gpu_lost":
                os._exit(4)


def main():
    parser = argparse.ArgumentParser(description="Runs PyTorch implementations of ops for kgen.")
    parser.add_argument("--socket", required=True)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    # Whatever a library prints must not be taken for the line that the parent waits for.
    stdout = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    threading.Thread(target=end_with_parent, daemon=True).start()
    try:
        device = open_device(arguments.device)
        set_precision("strict")
        server = Server(device, os.getcwd())
        listener = listen(arguments.socket)
        ready = {"protocol": PROTOCOL, "ready": facts(device)}
    except Exception as error:
        refusal = error if isinstance(error, Refusal) else Refusal("other", repr(error))
        ready = {"protocol": PROTOCOL, "error": refusal.record()}
    with stdout:
        stdout.write(json.dumps(ready) + "\n")
    if "error" in ready:
        os._exit(3)
    while True:
        connection, _ = listener.accept()
        with contextlib.suppress(ConnectionError):
            serve(connection, server)
        server.forget_client()

