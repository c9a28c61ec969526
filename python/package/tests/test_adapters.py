"""Each adapter against the real package where it is installed, else against its published interface."""

import asyncio
import dataclasses
import inspect
import json
import os
import pickle
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import httpx
import pytest
from conftest import HERE, PLAN

import kgen
from kgen.adapters import _task, kernelbench, skyrl, verl
from kgen.protocol import Patience

MODULE = "import torch\nclass Model(torch.nn.Module):\n    pass\n"


def reply(mark=""):
    return f"Here it is:\n```cuda\n{PLAN}// {mark}\n```\n"


def real(module):
    """The module of a trainer, where it is installed."""
    return pytest.importorskip(module, reason=f"{module} cannot be imported here", exc_type=ImportError)


def call(app, method, path, body=None):
    async def go():
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://app") as client:
            content = body if isinstance(body, (str, type(None))) else json.dumps(body)
            return await client.request(method, path, content=content)

    return asyncio.run(go())


@pytest.fixture
def judge(fake):
    return kgen.AsyncClient(fake.url, retries=2)


@pytest.fixture(autouse=True)
def environment(fake, monkeypatch):
    monkeypatch.setenv("KGEN_SERVE_URL", fake.url)


def test_tasks():
    assert _task.task(" relu ", {"level": "time", "problem": "mine"}) == {"op": "relu", "level": "time"}
    assert _task.task('{"problem": "mine"}', {"op": "relu"}) == {"problem": "mine"}
    assert _task.task({"op": "add", "level": "judge"}, {"level": "time"}) == {"op": "add", "level": "judge"}
    assert _task.source(" \n") == "// an empty reply\n"
    assert _task.source(reply("x")) == PLAN + "// x\n"


def test_every_adapter_has_at_most_100_lines():
    for path in (HERE.parent / "kgen" / "adapters").glob("*.py"):
        lines = path.read_text().splitlines()
        assert len(lines) <= 100, path


# KernelBench

PUBLISHED = [
    "original_model_src", "custom_model_src", "seed_num", "num_correct_trials", "num_perf_trials",
    "measure_performance", "timing_method",
    "verbose", "build_dir", "device", "backend", "precision", "check_for_excessive_speedup",
    "excessive_speedup_threshold",
]  # fmt: skip
MEMBERS = ["compiled", "correctness", "metadata", "runtime", "runtime_stats", "ref_runtime", "ref_runtime_stats"]


def positional(function):
    kinds = inspect.signature(function).parameters
    return [name for name, parameter in kinds.items() if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]


def test_kernelbench_has_the_published_interface():
    assert positional(kernelbench.eval_kernel_against_ref) == PUBLISHED
    assert [field.name for field in dataclasses.fields(kernelbench.KernelExecResult)] == MEMBERS


def test_kernelbench_has_the_real_interface():
    theirs = real("kernelbench.eval")
    assert positional(theirs.eval_kernel_against_ref) == positional(kernelbench.eval_kernel_against_ref)
    assert list(theirs.KernelExecResult.model_fields) == MEMBERS


def test_kernelbench(program, fake):
    kernelbench.definition.cache_clear()
    evaluate = kernelbench.eval_kernel_against_ref
    found = evaluate(MODULE, PLAN, num_correct_trials=5, num_perf_trials=100)
    assert (found.compiled, found.correctness, found.runtime) == (True, True, -1.0)
    assert fake.log[-1][1]["problem"] == {"definition": 'name = "mine"\n'}
    assert (fake.log[-1][1]["dtypes"], fake.log[-1][1]["level"]) == (["f32"], "judge")
    timed = evaluate(
        MODULE, reply("@fast"), measure_performance=True, precision="torch.bfloat16", excessive_speedup_threshold=2
    )
    assert (timed.runtime, timed.ref_runtime, timed.metadata["excessive_speedup"]) == (0.019, 0.04, True)
    assert (fake.log[-1][1]["dtypes"], fake.log[-1][1]["level"]) == (["bf16"], "time")
    assert evaluate(MODULE, PLAN + "@nocompile").metadata["compilation_error"] == "line 1"
    assert evaluate(MODULE, PLAN + "@wrong").metadata["correctness_issue"] == "element 3"
    assert [row["arguments"][0] for row in program()] == ["import"]
    with pytest.raises(kgen.InfraError):
        evaluate(MODULE, PLAN + "@unsupported")
    with pytest.raises(kgen.CommandError, match="dropout"):
        evaluate(MODULE + "# dropout", PLAN)
    with pytest.raises(ValueError, match="triton"):
        evaluate(MODULE, PLAN, backend="triton")


# KernelGYM

RESPONSE = {
    "task_id", "status", "compiled", "correctness", "decoy_kernel", "reference_runtime", "kernel_runtime", "speedup",
    "metadata", "error_message", "error_code", "submitted_at", "completed_at", "processing_time",
}  # fmt: skip
STATUSES = {"pending", "processing", "completed", "failed", "timeout"}


def test_kernelgym_speaks_the_published_interface(program, fake, judge):
    pytest.importorskip("starlette")
    from kgen.adapters import kernelgym

    kernelbench.definition.cache_clear()
    app = kernelgym.app(judge, level="time")

    def evaluate(task_id, mark, **more):
        task = {"task_id": task_id, "reference_code": MODULE, "kernel_code": PLAN + mark, "backend": "cuda"}
        answer = call(app, "POST", "/evaluate", {**task, **more})
        assert answer.status_code != 200 or (answer.json().keys() <= RESPONSE and answer.json()["status"] in STATUSES)
        return answer

    fast = evaluate("t1", "@fast").json()
    assert (fast["status"], fast["correctness"], fast["speedup"], fast["kernel_runtime"]) == (
        "completed",
        True,
        2.1,
        0.019,
    )
    assert fake.log[-1][1]["level"] == "time"
    assert call(app, "GET", "/results/t1").json() == fast
    assert call(app, "GET", "/status/t1").json() == {"task_id": "t1", "status": "completed"}
    assert call(app, "GET", "/results/t0").status_code == 404
    assert evaluate("t1", "@wrong").json() == fast
    wrong = evaluate("t1", "@wrong", force_refresh=True, measure_performance=False).json()
    assert (wrong["correctness"], wrong["error_code"]) == (False, "CORRECTNESS_ERROR")
    assert fake.log[-1][1]["level"] == "judge"
    assert evaluate("t2", "@nocompile").json()["error_code"] == "COMPILATION_ERROR"
    assert evaluate("t3", "@broken").status_code == 503
    assert call(app, "GET", "/status/t3").status_code == 404
    unsupported = evaluate("t4", "@unsupported").json()
    assert (unsupported["status"], unsupported["error_code"]) == ("failed", "SYSTEM_ERROR")
    assert evaluate("t5", "", reference_code=MODULE + "# dropout").json()["error_code"] == "VALIDATION_ERROR"
    assert evaluate("t6", "", kernel_code=None).status_code == 400
    assert call(app, "POST", "/evaluate", "{").status_code == 400


# verl


def test_verl():
    found = verl.compute_score("kgen", reply("@fast"), "relu", {"num_turns": 1}, reward_router_address="x")
    assert found == {"score": pytest.approx(0.7), "acc": 1.0, "compiled": 1.0}
    assert verl.compute_score("kgen", "", '{"op": "relu", "dtypes": ["f32"]}')["acc"] == 1.0
    mine = pickle.loads(pickle.dumps(verl.make_compute_score(reward=acc, level="judge")))
    assert mine("kgen", reply("@wrong"), "relu", None)["score"] == -5.0
    with pytest.raises(kgen.InfraError):
        verl.compute_score("kgen", reply("@unsupported"), "relu")


def acc(result):
    return 5.0 if result.correct else -5.0


def test_verl_reward_manager():
    naive = real("verl.experimental.reward_loop.reward_manager.naive")
    import numpy
    import torch
    from omegaconf import OmegaConf

    texts = [reply(), reply("@wrong")]
    tokenizer = SimpleNamespace(decode=lambda ids, **_: texts[int(ids[0])])

    async def score(index):
        manager = naive.NaiveRewardManager(OmegaConf.create({}), tokenizer, compute_score=verl.compute_score)
        ones = torch.ones((1, 1), dtype=torch.long)
        others = {"data_source": "kgen", "reward_model": {"ground_truth": "relu"}, "extra_info": {}}
        data = naive.DataProto.from_dict(
            {"responses": ones * index, "attention_mask": ones},
            non_tensors={name: numpy.array([value], dtype=object) for name, value in others.items()},
        )
        return await manager.run_single(data)

    assert asyncio.run(score(0))["reward_score"] == pytest.approx(0.4)
    wrong = asyncio.run(score(1))
    assert wrong["reward_score"] == pytest.approx(0.1)
    assert wrong["reward_extra_info"]["acc"] == 0.0


# slime


def test_slime_answers_the_published_request(fake, judge, monkeypatch):
    pytest.importorskip("starlette")
    from kgen.adapters import slime

    app = slime.app(judge)

    def post(mark, app=app, **more):
        return call(app, "POST", "/", {"prompt": "p", "response": reply(mark), "label": "relu", **more})

    assert post("").json() == pytest.approx(0.4)
    assert post("@wrong", label={"op": "relu"}).json() == pytest.approx(0.1)
    assert post("@broken").status_code == 503
    assert post("@unsupported").status_code == 500
    # The server would refuse it again.
    assert post("@python").status_code == 500
    assert post("", label="nope").status_code == 400
    assert post("", label=None).status_code == 400
    assert post("", label="{").status_code == 400
    assert post("", response=1).status_code == 400
    assert call(app, "POST", "/", "[]").status_code == 400
    given = []

    def patience(timeout):
        given.append(timeout)
        return Patience(0.0, 0)

    # slime posts the same again, which is the same job.
    monkeypatch.setattr(judge, "_patience", patience)
    late = post("@slow")
    assert (late.status_code, late.headers["Retry-After"], given) == (503, "5", [105.0])
    monkeypatch.undo()
    jobs = set(fake.jobs)
    assert post("@slow", slime.app(kgen.AsyncClient(fake.url))).json() == pytest.approx(0.4)
    assert set(fake.jobs) == jobs


# SkyRL


def test_skyrl():
    environment = skyrl.KgenEnv(None, {"reward_spec": {"ground_truth": "relu"}, "max_turns": 2})
    assert environment.init([{"role": "user", "content": "p"}]) == ([{"role": "user", "content": "p"}], {})
    first = environment.step(reply("@wrong"))
    assert first["observations"] == [{"role": "user", "content": "element 3"}]
    assert (first["done"], first["reward"]) == (False, pytest.approx(0.1))
    last = environment.step(reply())
    assert (last["done"], last["observations"], last["metadata"]["correct"]) == (True, [], True)
    with pytest.raises(kgen.InfraError):
        environment.step(reply("@unsupported"))

    class Mine(skyrl.KgenEnv):
        reward = staticmethod(acc)

    assert Mine(None, {"reward_spec": {"ground_truth": "relu"}}).step(reply())["reward"] == 5.0


def test_skyrl_gym_makes_it():
    gym = real("skyrl_gym")
    from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput

    gym.register(id="kgen", entry_point="kgen.adapters.skyrl:KgenEnv")
    environment = gym.make("kgen", env_config={}, extras={"reward_spec": {"ground_truth": "relu"}})
    assert isinstance(environment, BaseTextEnv)
    step = environment.step(reply())
    assert step.keys() == BaseTextEnvStepOutput.__annotations__.keys()
    assert environment.get_metrics() == {}
    environment.close()


# NeMo Gym

RESPONSE_OF_A_MODEL = {
    "id": "r",
    "created_at": 0.0,
    "model": "m",
    "object": "response",
    "parallel_tool_calls": False,
    "tool_choice": "auto",
    "tools": [],
    "output": [
        {"type": "reasoning", "id": "t", "summary": []},
        {
            "type": "message",
            "id": "m",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": reply(), "annotations": []}],
        },
    ],
}


def verify(judge, **more):
    from kgen.adapters import nemo_gym

    body = {"responses_create_params": {"input": "p"}, "response": RESPONSE_OF_A_MODEL, "op": "relu", **more}
    return body, call(nemo_gym.app(judge), "POST", "/verify", body)


def test_nemo_gym(judge, fake):
    pytest.importorskip("starlette")
    from kgen.adapters import nemo_gym

    assert call(nemo_gym.app(judge), "POST", "/seed_session", {}).json() == {}
    body, answer = verify(judge)
    assert answer.json()["reward"] == pytest.approx(0.4)
    assert {name: answer.json()[name] for name in body} == body
    _, answer = verify(judge, op=None, verifier_metadata={"op": "add", "dtypes": ["f32"]})
    assert fake.log[-1][1]["op"] == "add"
    broken = {"output": [{"type": "message", "content": PLAN + "@broken"}]}
    assert verify(judge, response=broken)[1].status_code == 503
    assert verify(judge, response={"output": []})[1].json()["reward"] == pytest.approx(0.4)
    assert verify(judge, response=None)[1].status_code == 400


def test_nemo_gym_reads_the_answer(judge):
    theirs = real("nemo_gym.base_resources_server")
    body, answer = verify(judge)
    theirs.BaseVerifyRequest.model_validate(body)
    assert theirs.BaseVerifyResponse.model_validate(answer.json()).reward == pytest.approx(0.4)
    theirs.BaseSeedSessionResponse.model_validate({})


# OpenEnv


def test_openenv(judge):
    pytest.importorskip("starlette")
    from kgen.adapters import openenv

    app = openenv.app(judge, max_turns=2)
    assert call(app, "GET", "/health").json() == {"status": "healthy"}
    assert call(app, "GET", "/schema").json().keys() == {"action", "observation", "state"}
    first = call(app, "POST", "/reset", {"episode_id": "e", "seed": 3}).json()
    assert first["observation"]["prompt"].startswith("write relu")
    assert (first["reward"], first["done"]) == (None, False)
    wrong = call(app, "POST", "/step", {"action": {"code": PLAN + "@wrong"}}).json()
    assert (wrong["reward"], wrong["done"], wrong["observation"]["feedback"]) == (
        pytest.approx(0.1),
        False,
        "element 3",
    )
    assert call(app, "GET", "/state").json() == {"episode_id": "e", "step_count": 1}
    assert call(app, "POST", "/step", {"action": {"code": PLAN + "@broken"}}).status_code == 503
    assert call(app, "POST", "/step", {"action": {}}).status_code == 400
    assert call(app, "POST", "/step", {"action": {"code": PLAN + "@wrong"}}).json()["done"] is True
    assert call(app, "POST", "/reset", {"op": "add"}).json()["observation"]["prompt"].startswith("write add")
    assert call(app, "POST", "/reset", {}).json()["observation"]["prompt"].startswith("write relu")


def test_openenv_client(judge):
    core = real("openenv.core")
    uvicorn = pytest.importorskip("uvicorn")
    from openenv.core.env_server import types

    from kgen.adapters import openenv

    app = openenv.app(judge)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"

    async def episode():
        async with core.GenericEnvClient(base_url=url) as environment:
            first = await environment.reset(op="add")
            assert first.observation["prompt"].startswith("write add")
            step = await environment.step({"code": PLAN + "@fast"})
            assert (step.done, step.reward) == (True, pytest.approx(0.7))
            state = await environment.state()
            assert (state if isinstance(state, dict) else state.model_dump())["step_count"] == 1
            with pytest.raises(RuntimeError, match="worker"):
                await environment.step({"code": PLAN + "@broken"})

    asyncio.run(episode())
    for model, path, body in (
        (types.ResetResponse, "/reset", {}),
        (types.StepResponse, "/step", {"action": {"code": PLAN}}),
    ):
        model.model_validate(httpx.post(url + path, json=body).json())
    for model, path in (
        (types.State, "/state"),
        (types.SchemaResponse, "/schema"),
        (types.HealthResponse, "/health"),
    ):
        model.model_validate(httpx.get(url + path).json())
    server.should_exit = True
    thread.join()


# verifiers


def test_verifiers(tmp_path, monkeypatch):
    vf = real("verifiers.v1")
    from verifiers.v1.utils.loaders import taskset_class, taskset_config_type

    (tmp_path / "kernels.py").write_text(
        "from kgen.adapters.verifiers import KgenTaskset\n__all__ = ['KgenTaskset']\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    cls = taskset_class("kernels")
    config = taskset_config_type("kernels")(ops=["relu", "add"])
    first, second = list(cls(config))
    assert (first.data.name, first.data.prompt_text.startswith("write relu"), second.data.idx) == ("relu", True, 1)

    def scored(mark):
        trace = vf.Trace.model_construct(root_reply=reply(mark), rewards={}, metrics={})
        asyncio.run(first.score(trace))
        return trace

    assert scored("").reward == pytest.approx(0.4)
    assert scored("").rewards.keys() == {"kernel_reward"}
    assert scored("@wrong").metrics == {"correct": 0.0}
    with pytest.raises(vf.TaskError):
        scored("@unsupported")
    [first] = cls(type(config)(task={"reward": "test_adapters:acc"}))
    assert scored("@wrong").reward == -5.0


# Harbor


def run_test(task, folder, environment):
    command = [sys.executable, "-m", "kgen.adapters.harbor", str(folder / "kernel.cu")]
    given = {**os.environ, "PYTHONPATH": str(HERE.parent), "KGEN_TASK": json.dumps(task), **environment}
    return subprocess.run(command, env=given, capture_output=True, text=True)


def test_harbor(fake, client, tmp_path):
    from kgen.adapters import harbor

    task = harbor.export(tmp_path, op="relu", dtypes=["f32"], client=client, install="pip install /kgen.whl")
    assert task == tmp_path / "relu"
    assert "write relu" in (task / "instruction.md").read_text()
    assert "RUN pip install /kgen.whl" in (task / "environment/Dockerfile").read_text()
    assert os.access(task / "tests/test.sh", os.X_OK)
    assert subprocess.run(["sh", "-n", task / "tests/test.sh"]).returncode == 0
    assert run_test({"op": "relu"}, tmp_path, {}).stdout == "0.4\n"
    (tmp_path / "kernel.cu").write_text(PLAN + "@wrong")
    assert run_test({"op": "relu"}, tmp_path, {}).stdout == "0.1\n"
    mine = {"KGEN_REWARD": "test_adapters:acc", "PYTHONPATH": f"{HERE.parent}:{HERE}"}
    assert run_test({"op": "relu"}, tmp_path, mine).stdout == "-5.0\n"
    (tmp_path / "kernel.cu").write_text(PLAN + "@unsupported")
    failed = run_test({"op": "relu"}, tmp_path, {})
    assert (failed.returncode, failed.stdout) == (1, "")


def test_harbor_reads_the_task(client, tmp_path):
    theirs = real("harbor.models.task.task")
    from kgen.adapters import harbor

    folder = harbor.export(tmp_path, op="relu", dtypes=["f32"], client=client)
    task = theirs.Task(folder)
    assert task.instruction.startswith("write relu")
    assert task.paths.discovered_test_path_for(task.config.environment.os) == (folder / "tests/test.sh").resolve()
    assert json.loads(task.config.verifier.env["KGEN_TASK"]) == {"dtypes": ["f32"], "op": "relu"}
