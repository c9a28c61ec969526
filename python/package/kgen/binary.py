"""The program `kgen`: where it is, and its documents of `--format json`."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from .errors import BinaryNotFoundError, CommandError


def environment() -> dict[str, str]:
    """The environment of `kgen`, which warns of variables with its prefix that it does not read."""
    return {name: value for name, value in os.environ.items() if name not in ("KGEN_BIN", "KGEN_SERVE_URL")}


def find_kgen_bin() -> str:
    """The path of `kgen`: of this environment, else on PATH, else `$KGEN_BIN`.

    Raises `BinaryNotFoundError` with the places that were searched.
    """
    scripts = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", f"{os.name}_user")]
    # `pip install --target DIR` puts scripts into DIR/bin.
    places = [*map(Path, scripts), Path(__file__).parent.parent / "bin"]
    candidates = [str(place / "kgen") for place in places]
    candidates += [shutil.which("kgen") or "", os.environ.get("KGEN_BIN", "")]
    for candidate in candidates:
        if os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
    searched = ", ".join(map(str, places))
    raise BinaryNotFoundError(f"`kgen` is not in {searched}, not on PATH, and KGEN_BIN does not name it")


def flags(options: dict[str, Any]) -> list[str]:
    """Options as flags: `max_attempts=3` is `--max-attempts 3`; True a bare flag, a sequence a list with commas."""
    given: list[str] = []
    for name, value in options.items():
        if value is None or value is False:
            continue
        given.append(f"--{name.replace('_', '-')}")
        if value is not True:
            given.append(",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value))
    return given


def document(*arguments: str) -> tuple[int, dict[str, Any]]:
    """Runs a command with `--format json`: its exit code and its document. Progress goes to standard error.

    Raises `CommandError` where the document has an error, or where there is none.
    """
    command = [find_kgen_bin(), *arguments, "--format", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8", env=environment()) as process:
        try:
            output, _ = process.communicate()
        except BaseException:
            # A run that is ended by a signal keeps what it has.
            process.terminate()
            process.wait()
            raise
    code = process.returncode
    try:
        found: dict[str, Any] = json.loads(output)
    except ValueError:
        text = f"`kgen {arguments[0]}` ended with {code} and no document: {output[:500]}"
        raise CommandError(code, "no_document", text) from None
    if (error := found.get("error")) is not None:
        text = ": ".join([error["message"], *error["causes"]])
        raise CommandError(code, error["kind"], text, tuple(error["hints"]), found.get("data"))
    return code, found


def scratch(prefix: str) -> str:
    """A new folder that goes with this process, and not with a fork of it."""
    folder, pid = tempfile.mkdtemp(prefix=prefix), os.getpid()

    def remove() -> None:
        if os.getpid() == pid:
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder
