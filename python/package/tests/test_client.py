import asyncio
import dataclasses
import pickle
import time

import pytest
from conftest import PLAN
from fake import Fake

import kgen
from kgen.results import Result


def test_a_result_is_read_whole_and_cannot_be_changed(client):
    result = client.evaluate(PLAN + "// @fast", op="relu")
    assert (result.compiled, result.correct, result.verdict, result.device, result.seed) == (
        True,
        True,
        "passed",
        "emu",
        7,
    )
    assert result.cases == kgen.Cases(passed=9, total=9, skipped=1)
    assert result.speedup == kgen.Speedup("aten", 2.1, (2.0, 2.2), "faster")
    assert (result.baseline_us, result.kernel_us, result.floor_us) == (40.0, 19.0, 10.0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.correct = False
    wrong = client.evaluate(PLAN + "// @wrong", op="relu")
    assert (wrong.correct, wrong.error) == (False, kgen.KernelError("wrong_output", "element 3"))


def test_numbers_that_json_lacks_are_read():
    assert (
        Result.from_json({"compiled": True, "correct": False, "worst_error_over_bound": "inf"}).worst_error_over_bound
        > 1
    )


def test_only_what_was_given_is_sent(client, fake):
    client.evaluate(PLAN, op="relu", level=None, dtypes=None)
    assert fake.log[-1][1] == {"op": "relu", "source": PLAN}
    client.evaluate(PLAN, problem="mine", dtypes="f32,f16", seed=0, deadline_s=9.5, idempotency_key="k", timeout=9)
    sent = {"problem": {"name": "mine"}, "source": PLAN, "dtypes": ["f32", "f16"], "seed": 0}
    assert fake.log[-1][1] == {**sent, "deadline_s": 9.5, "idempotency_key": "k"}
    client.evaluate(PLAN, problem={"definition": "format = 1"}, dtypes=("f32",))
    assert fake.log[-1][1]["problem"] == {"definition": "format = 1"}
    client.evaluate("\ud800 é", op="relu")
    assert fake.log[-1][1]["source"] == "? é"


@pytest.mark.parametrize("mark", ["@busy", "@down", "@lost"])
def test_what_may_succeed_later_is_sent_again(client, fake, mark):
    assert client.evaluate(PLAN + mark, op="relu").correct
    assert fake.sources(mark) == 2


def test_retries_are_bounded(fake):
    with pytest.raises(kgen.InfraError) as caught:
        kgen.Client(fake.url, retries=3).evaluate(PLAN + "@broken", op="relu")
    assert (caught.value.kind, caught.value.retryable, fake.sources("@broken")) == ("worker", True, 4)


@pytest.mark.parametrize(("kind", "error"), [("unsupported", kgen.InfraError), ("deadline", kgen.DeadlineError)])
def test_some_failures_are_final(client, fake, kind, error):
    with pytest.raises(error) as caught:
        client.evaluate(PLAN + "@" + kind, op="relu")
    assert caught.value.kind == kind
    assert fake.sources(kind) == 1


def test_a_refusal_is_no_failure_of_the_machine(client, fake):
    with pytest.raises(kgen.ApiError) as caught:
        client.evaluate(PLAN, op="rleu")
    error = caught.value
    assert (error.status, error.kind, error.field, error.hint) == (422, "unknown_op", "op", "relu")
    assert len(fake.log) == 1
    with pytest.raises(kgen.ApiError, match="no_such_member"):
        client.evaluate(PLAN, op="relu", no_such_member=1)
    with pytest.raises(kgen.ApiError, match="not_found"):
        client.job("j_none")


def test_retry_after_is_kept(fake, client, monkeypatch):
    slept = []
    monkeypatch.setattr("kgen.client.time.sleep", slept.append)
    monkeypatch.setattr("fake.Handler.answer.__defaults__", ("7",))
    client.evaluate(PLAN + "@busy", op="relu")
    assert [7 <= seconds <= 8.75 for seconds in slept if seconds] == [True]
    slept.clear()
    # A server that asks for more than the caller has is not waited for.
    with pytest.raises(kgen.ApiError, match="queue_full"):
        client.evaluate(PLAN + "again @busy", op="relu", timeout=5)
    assert not any(slept)


def test_a_slow_job_is_waited_for_until_the_timeout(client):
    assert client.evaluate(PLAN + "@slow", op="relu").correct
    begin = time.monotonic()
    with pytest.raises(kgen.DeadlineError) as caught:
        client.evaluate(PLAN + "again @slow @slow", op="relu", timeout=0.0)
    assert (caught.value.kind, caught.value.retryable) == ("timeout", True)
    assert time.monotonic() - begin < 0.9


def test_no_server_is_an_error_within_the_timeout():
    client = kgen.Client("http://127.0.0.1:9", timeout=0.5)
    with pytest.raises(kgen.UnreachableError, match="Connect"):
        client.evaluate(PLAN, op="relu")
    with pytest.raises(kgen.UnreachableError):
        client.health()


def test_the_token_is_sent_and_not_shown():
    fake = Fake(token="secret")
    with pytest.raises(kgen.ApiError, match="unauthorized"):
        kgen.Client(fake.url, token="other").ops()
    client = kgen.Client(fake.url + "/", token="secret")
    assert client.evaluate(PLAN, op="relu").correct
    assert "secret" not in repr(client)
    assert kgen.Client(fake.url).health().status == "ok"


def test_a_batch_has_an_answer_for_each(client, fake):
    marks = ["", "@wrong", "@down", "@slow", "@unsupported"]
    requests = [{"source": PLAN + mark, "op": "relu", "dtypes": "f32"} for mark in marks]
    jobs = client.batch(
        [*requests, {"source": PLAN, "op": "nope"}] + [{"source": f"{n}", "op": "add"} for n in range(300)]
    )
    assert [job.state for job in jobs[:5]] == ["done", "done", "done", "done", "failed"]
    assert [job.result.correct for job in jobs[:5]] == [True, False, True, True, None]
    assert isinstance(jobs[5], kgen.ApiError)
    assert jobs[5].kind == "unknown_op"
    assert len(jobs) == 306
    assert [len(body["requests"]) for path, body, _ in fake.log if path == "/v1/batch"] == [256, 50]


def test_jobs_and_lists(client, fake):
    [job] = client.batch([{"source": PLAN, "op": "relu"}])
    assert client.job(job.id) == job
    assert client.evaluation(job.id) == {"verdict": "passed"}
    relu = kgen.Op("relu", "aten.relu.default", "relu(Tensor self) -> Tensor", ("aten.relu.default",))
    assert client.ops() == [relu]
    assert client.problems() == [kgen.Problem("mine", "mine_op")]
    assert client.prompt("relu", dtypes=["f32", "f16"]) == "write relu {'dtypes': 'f32,f16'}"
    assert client.health().max_queue == 1024
    fake.draining = True
    assert client.health().status == "draining"


def test_job_waits_if_told_to(client, fake):
    with pytest.raises(kgen.DeadlineError):
        client.evaluate(PLAN + "@slow", op="relu", timeout=0.0)
    [id] = fake.jobs
    assert client.job(id).state == "running"
    assert client.job(id, wait=2).state == "done"


def test_async_client_does_the_same_in_any_loop(fake):
    client = kgen.AsyncClient(fake.url)

    async def main():
        marks = ["@busy", "@wrong", "@down", "@fast"]
        results = await asyncio.gather(*(client.evaluate(PLAN + mark, op="relu") for mark in marks))
        assert [result.correct for result in results] == [True, False, True, True]
        [job] = await client.batch([{"source": PLAN, "op": "relu"}])
        assert (await client.job(job.id)) == job
        assert (await client.evaluation(job.id)) == {"verdict": "passed"}
        assert (await client.ops())[0].name == "relu"
        assert (await client.health()).device == "emu"
        assert (await client.problems())[0].name == "mine"
        assert (await client.prompt("relu")).startswith("write relu")
        with pytest.raises(kgen.InfraError):
            await client.evaluate(PLAN + "@unsupported", op="relu")
        with pytest.raises(kgen.UnreachableError):
            await kgen.AsyncClient("http://127.0.0.1:9", timeout=0.3).ops()

    asyncio.run(main())
    asyncio.run(main())

    async def closed():
        async with client:
            await client.ops()

    asyncio.run(closed())


def test_clients_and_errors_can_be_pickled(client):
    client.ops()
    assert pickle.loads(pickle.dumps(client)).ops() == client.ops()
    for error in (
        kgen.ApiError(422, "a", "b", "c"),
        kgen.DeadlineError("a", "b", True),
        kgen.CommandError(1, "a", "b", ("c",)),
    ):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), vars(again), str(again)) == (type(error), vars(error), str(error))
