"""Against the real program: set KGEN_BIN to one that has `serve`."""

import asyncio
import os
import subprocess
import time
from pathlib import Path

import pytest

import kgen
from kgen.adapters import kernelbench

BINARY = os.environ.get("KGEN_BIN", "")
pytestmark = pytest.mark.skipif(not BINARY, reason="KGEN_BIN names no program")
ROOT = Path(__file__).parents[3]
RIGHT = ROOT / "generated_kernels/evaluation_only/relu/relu.cu"
MODULE = """import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
def get_inputs():
    return [torch.randn(16, 64)]
def get_init_inputs():
    return []
"""
PROBLEM = ROOT / "examples/fused_bias_gelu_residual"


@pytest.fixture(scope="module")
def server():
    with kgen.Server(binary=BINARY, device="emu") as server:
        yield server


@pytest.fixture(scope="module")
def client(server):
    with kgen.Client(server.url, server.token) as client:
        yield client


@pytest.fixture(scope="module")
def right():
    return RIGHT.read_text()


def test_right_wrong_and_broken(client, right):
    found = client.evaluate(right, op="relu", dtypes=["f32"], suite="smoke")
    assert (found.compiled, found.correct, found.verdict, found.error) == (True, True, "passed", None)
    assert found.cases.passed == found.cases.total - found.cases.skipped > 0
    assert found.worst_error_over_bound <= 1
    assert (found.speedup, found.kernel_us, found.flags) == (None, None, ())
    assert found.timing_s["total"] > 0
    assert kgen.reward(found) == pytest.approx(0.4)
    wrong = client.evaluate(
        right.replace("value <= 0.0f", "value <= 1.0f"), op="aten.relu.default", dtypes=["f32"], suite="smoke"
    )
    assert (wrong.compiled, wrong.correct, wrong.error.kind) == (True, False, wrong.verdict)
    assert wrong.feedback
    broken = client.evaluate(
        right.replace("const long long step", "const step step"), op="relu", dtypes=["f32"], suite="smoke"
    )
    assert (broken.compiled, broken.verdict) == (False, "compile_error")
    assert kgen.reward(broken) == 0.0
    compiled = client.evaluate(right, op="relu", dtypes=["f32"], suite="smoke", level="compile")
    assert (compiled.compiled, compiled.correct) == (True, None)


@pytest.mark.parametrize("source", ["// an empty reply\n", "I give up", "\ud800"])
def test_what_is_no_kernel_file_is_a_kernel_that_does_not_compile(client, source):
    found = client.evaluate(source, op="relu", dtypes=["f32"], suite="smoke")
    assert (found.compiled, kgen.reward(found)) == (False, 0.0)


def test_an_equal_request_is_the_same_job(client, right):
    request = {"source": right, "op": "relu", "dtypes": ["f32"], "suite": "smoke"}
    first, second = client.batch([request, {**request, "op": "aten.relu.default"}])
    assert first.id == second.id
    begin = time.monotonic()
    assert client.evaluate(**request) == first.result
    assert time.monotonic() - begin < 1
    assert client.job(first.id) == first
    assert client.evaluation(first.id)


def test_refusals(client, right):
    for request, kind, status in (
        ({"op": "rleu"}, "unknown_op", 422),
        ({"op": "relu", "level": "time"}, "no_gpu", 422),
        ({"op": "relu", "suite": "nope"}, "unknown_suite", 422),
        ({"problem": "nope"}, "unknown_problem", 422),
        ({"op": "relu", "no_such": 1}, "invalid_request", 422),
        ({}, "invalid_request", 422),
    ):
        with pytest.raises(kgen.ApiError) as caught:
            client.evaluate(right, **request)
        assert (caught.value.kind, caught.value.status) == (kind, status)
    with pytest.raises(kgen.ApiError, match="unauthorized"):
        kgen.Client(client.url, "other").ops()
    refused, done = client.batch(
        [{"source": right, "op": "rleu"}, {"source": right, "op": "relu", "dtypes": "f32", "suite": "smoke"}]
    )
    assert (refused.kind, done.state) == ("unknown_op", "done")


def test_a_problem_of_ones_own(client):
    definition = {"definition": PROBLEM.with_suffix(".toml").read_text()}
    assert client.evaluate(PROBLEM.with_suffix(".cu").read_text(), problem=definition, dtypes=["f32"]).correct


def test_a_module_of_kernelbench(monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setattr("kgen.binary.find_kgen_bin", lambda: BINARY)
    monkeypatch.setattr("kgen.server.find_kgen_bin", lambda: BINARY)
    monkeypatch.delenv("KGEN_SERVE_URL", raising=False)
    kernel = RIGHT.read_text().replace("contiguous(self)", "contiguous(x)").replace("T_self", "T_x")
    wrong = kernel.replace("value <= 0.0f", "value <= 1.0f")
    found = [kernelbench.eval_kernel_against_ref(MODULE, source) for source in (kernel, wrong)]
    assert [(result.compiled, result.correctness) for result in found] == [(True, True), (True, False)]


def test_lists(client):
    assert next(op for op in client.ops() if op.name == "relu").overload == "aten.relu.default"
    assert client.problems() == []
    assert "relu" in client.prompt("relu", dtypes=["f32"])
    health = client.health()
    assert (health.status, health.running, health.queued) == ("ok", 0, 0)


def test_many_at_once(server, right):
    async def main():
        async with kgen.AsyncClient(server.url, server.token) as client:
            sources = (right + f"// {n}\n" for n in range(8))
            return await asyncio.gather(
                *(client.evaluate(s, op="relu", dtypes=["f32"], suite="smoke") for s in sources)
            )

    assert all(result.correct for result in asyncio.run(main()))


def test_the_queue_is_waited_for(right):
    with kgen.Server(binary=BINARY, device="emu", max_queue=1, jobs=1) as server:

        async def main():
            async with kgen.AsyncClient(server.url, server.token, retries=100) as client:
                sources = (right + f"// {n}\n" for n in range(4))
                calls = (client.evaluate(s, op="relu", dtypes=["f32"], suite="smoke") for s in sources)
                return await asyncio.gather(*calls)

        assert all(result.correct for result in asyncio.run(main()))


def test_a_state_folder_is_gone_on_with(right, tmp_path):
    request = {"op": "relu", "dtypes": ["f32"], "suite": "smoke"}
    results = []
    for _ in range(2):
        with kgen.Server(binary=BINARY, device="emu", state=tmp_path) as server:
            results.append(kgen.Client(server.url, server.token).evaluate(right, **request))
    assert results[0] == results[1]


def test_a_replay_and_its_kernel(tmp_path, monkeypatch):
    monkeypatch.setattr("kgen.binary.find_kgen_bin", lambda: BINARY)
    run = kgen.generate(["relu"], replay="demo", device="emu", max_attempts=1, output_dir=str(tmp_path))
    assert (run.exit_code, run.ops[0].op, run.ops[0].passed, run.n_passed) == (0, "relu", True, 1)
    if subprocess.run([os.sys.executable, "-c", "import torch"], capture_output=True).returncode == 0:
        assert callable(kgen.load(run, "relu"))
