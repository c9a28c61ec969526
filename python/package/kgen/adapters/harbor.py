"""Harbor: a folder with a task.

Interface: `task.toml`, `instruction.md`, `environment/Dockerfile`, `tests/test.sh` and
`/logs/verifier/reward.txt`, as `harbor/models/task` and `harbor/verifier/verifier.py` read them (harbor 0.26.0).
The container judges by a `kgen serve` that `KGEN_SERVE_URL` (and `KGEN_SERVE_TOKEN`) name where harbor runs. A
machine that fails leaves no reward file: the trial is an error there, and no reward of 0.
"""

from __future__ import annotations

import json
import os
import pkgutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from .. import Client, Request
from . import _task

if TYPE_CHECKING:
    from typing_extensions import Unpack

FILE = "/app/kernel.cu"
TASK = """\
schema_version = "1.0"

[metadata]
category = "cuda"
tags = ["cuda", "kernel"]

[verifier]
timeout_sec = 900.0

[verifier.env]
KGEN_SERVE_URL = "${{KGEN_SERVE_URL}}"
KGEN_SERVE_TOKEN = "${{KGEN_SERVE_TOKEN:-}}"
KGEN_TASK = {task}
KGEN_REWARD = "{reward}"

[agent]
timeout_sec = 3600.0
"""
INSTRUCTION = "{prompt}\n\nWrite the kernel file, and nothing else, to `{file}`. It is judged when you have ended.\n"
DOCKERFILE = "FROM python:3.12-slim\nRUN {install}\nWORKDIR /app\n"
TEST = """\
#!/bin/sh
set -eu
mkdir -p /logs/verifier
python3 -m kgen.adapters.harbor {file} > /tmp/reward.txt
mv /tmp/reward.txt /logs/verifier/reward.txt
"""


def export(
    folder: str | os.PathLike[str],
    *,
    client: Client | None = None,
    install: str = "pip install --no-cache-dir kgen",
    reward: str = "kgen:reward",
    **task: Unpack[Request],
) -> Path:
    """Writes a task into `folder`/`op`, and returns that folder.

    `task` needs an `op`; `install` is the command that puts this package into the container, where `reward`
    is a `module:function` of a result.
    """
    op = task["op"]
    prompt = (client or _task.default_client()).prompt(op, dtypes=task.get("dtypes"))
    text = json.dumps(json.dumps(task), ensure_ascii=False)
    root = Path(folder) / op
    files = {
        "task.toml": TASK.format(task=text, reward=reward),
        "instruction.md": INSTRUCTION.format(prompt=prompt.rstrip(), file=FILE),
        "environment/Dockerfile": DOCKERFILE.format(install=install),
        "tests/test.sh": TEST.format(file=FILE),
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (root / "tests/test.sh").chmod(0o755)
    return root


def main(file: str) -> None:
    """Prints the reward of a file for the task of `KGEN_TASK`; a file that is missing has none: 0."""
    path = Path(file)
    task = _task.task(os.environ["KGEN_TASK"], {})
    text = path.read_text("utf-8", "replace") if path.is_file() else ""
    reward = pkgutil.resolve_name(os.environ.get("KGEN_REWARD", "kgen:reward"))
    print(float(reward(_task.default_client().evaluate(_task.source(text), **task))))


if __name__ == "__main__":
    main(sys.argv[1])
