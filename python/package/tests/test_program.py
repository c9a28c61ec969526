import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import HERE, PLAN

import kgen
from kgen import server
from kgen.adapters import _task, kernelbench


@pytest.fixture
def private(program):
    server._forget()
    yield program
    for running, _ in server._private.values():
        running.close()
    server._forget()


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def run(code, check=True):
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    subprocess.run([sys.executable, "-c", code], env=environment, timeout=60, check=check)


def gone(pid):
    end = time.monotonic() + 5
    while alive(pid) and time.monotonic() < end:
        time.sleep(0.02)
    return not alive(pid)


def test_the_program_is_found_in_order(program, tmp_path, monkeypatch):
    assert kgen.find_kgen_bin() == str(tmp_path / "bin" / "kgen")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("KGEN_BIN", str(tmp_path / "bin" / "kgen"))
    assert kgen.find_kgen_bin() == str(tmp_path / "bin" / "kgen")
    monkeypatch.delenv("KGEN_BIN")
    with pytest.raises(kgen.BinaryNotFoundError, match="PATH"):
        kgen.find_kgen_bin()
    monkeypatch.setattr("kgen.binary.sysconfig.get_path", lambda *_: str(tmp_path / "bin"))
    assert kgen.find_kgen_bin() == str(tmp_path / "bin" / "kgen")


def test_flags():
    options = {
        "max_attempts": 3,
        "planner": True,
        "offline": False,
        "seed": None,
        "dtypes": ["f32", "f16"],
        "jobs": 0,
    }
    assert kgen.binary.flags(options) == ["--max-attempts", "3", "--planner", "--dtypes", "f32,f16", "--jobs", "0"]


def test_evaluate_starts_one_private_server_and_another_if_it_dies(private):
    assert kgen.evaluate(PLAN, op="relu").correct
    assert kgen.evaluate(PLAN + "@wrong", op="relu", dtypes=["f32"]).correct is False
    [call] = private()
    arguments = call["arguments"]
    assert arguments[:3] == ["serve", "--listen", "127.0.0.1:0"]
    assert call["token"] not in arguments
    assert len(call["token"]) == 64
    os.kill(call["pid"], signal.SIGKILL)
    server._private[None][0]._process.wait()
    assert kgen.evaluate(PLAN, op="relu").correct
    assert len(private()) == 2


def test_a_private_server_for_modules_has_their_python(private, monkeypatch):
    monkeypatch.delenv("KGEN_SERVE_URL", raising=False)
    kernelbench.definition.cache_clear()
    assert kernelbench.eval_kernel_against_ref("class Model: pass", PLAN, python="/a/python").correctness
    assert _task.default_async_client("/a/python").url == server._private["/a/python"][0].url
    assert kgen.evaluate(PLAN, op="relu").correct
    modules, imported, plain = (call["arguments"] for call in private())
    assert imported[0] == "import"
    assert modules[5:] == ["--python", "/a/python", "--allow-python"]
    assert plain[5:] == []


@pytest.mark.parametrize("end", ["", "os._exit(0)", "os.kill(os.getpid(), 9)"])
def test_the_private_server_ends_with_the_process(private, end):
    code = f"""
import os, threading, kgen
first = threading.Thread(target=kgen.evaluate, args=({PLAN!r},), kwargs={{"op": "relu"}})
first.start(), first.join()
assert kgen.evaluate({PLAN!r}, op="relu").correct
{end}
"""
    run(code, check=not end.startswith("os.kill"))
    [call] = private()
    assert gone(call["pid"])
    folder = Path(call["arguments"][4])
    assert not end or folder.exists()
    assert end or not folder.exists()


def test_a_fork_has_a_server_of_its_own_and_leaves_its_parents_alone(private):
    code = f"""
import os, sys, kgen
from pathlib import Path
from kgen import server
from kgen.adapters import _task, kernelbench
evaluate = lambda: kgen.evaluate({PLAN!r}, op="relu")
evaluate()
folder, child = Path(server._private[None][0]._scratch), os.fork()
if child == 0:
    evaluate()
    sys.exit()
os.waitpid(child, 0)
assert folder.exists() and server._private[None][0].running
evaluate()
"""
    run(code)
    parent, own = private()
    assert gone(own["pid"])
    assert gone(parent["pid"])


def test_server(program, tmp_path):
    options = {"device": "emu", "max_queue": 8, "allow_python": True}
    with kgen.Server(state=tmp_path / "state", token="t", **options) as running:
        assert kgen.Client(running.url, "t").evaluate(PLAN, op="relu").correct
        with pytest.raises(kgen.ApiError, match="unauthorized"):
            kgen.Client(running.url).ops()
    assert not running.running
    [call] = program()
    flags = ["--device", "emu", "--max-queue", "8", "--allow-python"]
    assert call["arguments"] == ["serve", "--listen", "127.0.0.1:0", "--state", str(tmp_path / "state"), *flags]


def test_a_server_that_does_not_start_says_why(program):
    with pytest.raises(kgen.CommandError, match="there is no such device"), kgen.Server(device="none"):
        pass
    with pytest.raises(kgen.CommandError, match="No such file"), kgen.Server(binary="/nowhere/kgen"):
        pass


def test_a_server_that_does_not_drain_in_time_is_told_again(program):
    running = kgen.Server(device="stubborn").start()
    begin = time.monotonic()
    running.close(drain_s=0.3)
    assert not running.running
    assert time.monotonic() - begin < 2


def test_generate(program):
    run = kgen.generate(["relu", "add"], provider="replay", max_attempts=3, planner=True)
    [call] = program()
    flags = ["--ops", "relu,add", "--provider", "replay", "--max-attempts", "3", "--planner", "--format", "json"]
    assert call["arguments"] == ["generate", *flags]
    assert (run.run, run.exit_code, run.n_passed, run.warnings) == ("run_1", 1, 1, ("w",))
    assert run.ops[0].speedups == (kgen.OpSpeedup("aten", 1.5, (1.4, 1.6)),)
    assert [op.passed for op in run.ops] == [True, False]
    with pytest.raises(kgen.CommandError) as caught:
        kgen.generate("relu", provider="nokey")
    assert (caught.value.kind, caught.value.exit_code, caught.value.hints) == ("llm", 4, ("set one",))
    assert "none is set" in str(caught.value)


def test_load(program):
    run = kgen.generate("relu", output_dir="runs")
    assert kgen.load(run, "relu", attempt=2)(-3) == 0
    arguments = program()[-1]["arguments"]
    assert arguments[:6] == ["export", "run_1", "--op", "relu", "--to", "torch"]
    assert arguments[8:] == ["--attempt", "2", "--output-dir", "runs", "--format", "json"]
    assert kgen.load("latest", "net").__name__ == "ModelNew"


def test_import_needs_no_torch():
    run("import sys, kgen; assert 'torch' not in sys.modules and 'starlette' not in sys.modules")
