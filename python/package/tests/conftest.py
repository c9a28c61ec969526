import json
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from fake import Fake  # noqa: E402

import kgen  # noqa: E402

PLAN = '/*@plan\nlaunch("k", grid=1, block=1, args=[out])\n@*/\nextern "C" __global__ void k() {}\n'


@pytest.fixture
def fake():
    server = Fake()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def client(fake):
    with kgen.Client(fake.url) as client:
        yield client


@pytest.fixture
def program(tmp_path, monkeypatch):
    """A `kgen` on PATH that plays the program; calls it to read what it was called with."""
    path, calls = tmp_path / "bin" / "kgen", tmp_path / "calls"
    path.parent.mkdir()
    path.write_text(f'#!/bin/sh\nexec {sys.executable} {HERE}/fake_kgen.py "$@"\n')
    path.chmod(0o755)
    monkeypatch.setattr("kgen.binary.sysconfig.get_path", lambda *_: str(tmp_path / "nowhere"))
    monkeypatch.setenv("PATH", str(path.parent), prepend=":")
    monkeypatch.setenv("FAKE_KGEN_CALLS", str(calls))
    return lambda: [json.loads(line) for line in calls.read_text().splitlines()]
