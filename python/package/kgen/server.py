"""A server of one's own, and `evaluate` over a private one."""

from __future__ import annotations

import atexit
import os
import queue
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
from typing import IO, TYPE_CHECKING, Any

from .binary import environment, find_kgen_bin, flags, scratch
from .client import Client
from .errors import CommandError
from .protocol import Request
from .results import Result

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

# The server gets SIGTERM when the process dies that started it, in whatever way. The signal is bound to the thread
# that starts it, which therefore lives as long as the server.
EXEC = (
    "import ctypes, os, sys\n"
    "ctypes.CDLL(None).prctl(1, 15)\n"
    "if os.getppid() != int(sys.argv[1]): sys.exit(1)\n"
    "os.execv(sys.argv[2], sys.argv[2:])\n"
)


class Server:
    """`kgen serve` as a context manager. It ends with the block, at the latest with this process.

    `options` are the flags of `kgen serve`: `Server(device="emu", jobs=4, allow_python=True)`. Without `state`
    jobs are kept in a folder that goes with the server; without `token` there is a random one, `server.token`.

    Raises `CommandError` if the server does not start.
    """

    def __init__(
        self,
        *,
        listen: str = "127.0.0.1:0",
        state: str | os.PathLike[str] | None = None,
        token: str | None = None,
        binary: str | None = None,
        **options: Any,
    ) -> None:
        self.url = ""
        self.token = token or secrets.token_hex(32)
        self._pid = os.getpid()
        self._scratch = scratch("kgen-serve-") if state is None else None
        folder = self._scratch or os.fspath(state or "")
        self._command = [binary or find_kgen_bin(), "serve", "--listen", listen, "--state", folder]
        self._command += flags(options)
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> Self:
        """Starts the server, and returns when it takes requests."""
        first: queue.Queue[str] = queue.Queue()
        log: IO[str] = tempfile.TemporaryFile("w+")  # noqa: SIM115 - the server outlives this function
        threading.Thread(target=self._attend, args=(first, log), daemon=True).start()
        line = first.get()
        found = re.search(r"listens on (https?://[^\s/]+)", line)
        if found is None:
            self.close()
            log.seek(0)
            text = f"kgen serve did not start: {line}{log.read()[-2000:]}".strip()
            raise CommandError(self._process.returncode if self._process else 1, "serve", text)
        self.url = found[1]
        return self

    def _attend(self, first: queue.Queue[str], log: IO[str]) -> None:
        command = [sys.executable, "-ISc", EXEC, str(os.getpid()), *self._command]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                encoding="utf-8",
                env={**environment(), "KGEN_SERVE_TOKEN": self.token},
                # Ctrl-C is for the program that waits, not for its server.
                start_new_session=True,
            )
            assert self._process.stdout is not None
            first.put(self._process.stdout.readline())
            self._process.stdout.read()
        except Exception as error:
            first.put(str(error))

    @property
    def running(self) -> bool:
        """Whether the server's process lives."""
        return self._process is not None and self._process.poll() is None

    def close(self, drain_s: float = 60.0) -> None:
        """Ends the server: running evaluations have `drain_s` seconds to end. A fork leaves it to its parent."""
        if self._process is not None and self._pid == os.getpid():
            # The second signal ends it at once.
            for seconds in (drain_s, 2.0):
                self._process.terminate()
                try:
                    self._process.wait(seconds)
                    break
                except subprocess.TimeoutExpired:
                    continue
            else:
                self._process.kill()
                self._process.wait()
            shutil.rmtree(self._scratch or "", ignore_errors=True)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.close()


_lock = threading.Lock()
_private: dict[str | None, tuple[Server, Client]] = {}


def private(python: str | None = None) -> tuple[Server, Client]:
    """A private server of this process and a client of it, started on first use and again if it died.

    With `python`, a Python with PyTorch, it takes problems that have code in Python.
    """
    with _lock:
        if python not in _private or not _private[python][0].running:
            server = Server(python=python, allow_python=python is not None).start()
            _private[python] = server, Client(server.url, server.token)
            atexit.register(server.close, drain_s=1.0)
        return _private[python]


def _forget() -> None:
    global _lock, _private
    _lock, _private = threading.Lock(), {}


# A fork may outlive its parent and the server of that.
os.register_at_fork(after_in_child=_forget)


def evaluate(source: str, **request: Unpack[Request]) -> Result:
    """Evaluates a kernel file on this machine, by a private server that the first call starts.

    Members of the request: `kgen.Request`. Raises as `Client.evaluate`, and `BinaryNotFoundError`.
    """
    return private()[1].evaluate(source, **request)
