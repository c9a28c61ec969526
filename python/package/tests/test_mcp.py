"""Tools for agents, called by the Model Context Protocol's own client: set KGEN_BIN to a program that has `mcp`."""

import asyncio
import json
import os
from pathlib import Path

import httpx
import pytest

import kgen

mcp = pytest.importorskip("mcp")
if not hasattr(mcp, "Client"):
    pytest.skip("it is older than 2", allow_module_level=True)
# They come with it.
import httpx2  # noqa: E402
import jsonschema  # noqa: E402
from mcp.client.streamable_http import streamable_http_client  # noqa: E402

BINARY = os.environ.get("KGEN_BIN", "")
pytestmark = pytest.mark.skipif(not BINARY, reason="KGEN_BIN names no program")
ROOT = Path(__file__).parents[3]
RIGHT = (ROOT / "generated_kernels/evaluation_only/relu/relu.cu").read_text()
WRONG = RIGHT.replace("value <= 0.0f", "value <= 1.0f")
KERNEL = {"op": "relu", "dtypes": ["f32"], "suite": "smoke", "seed": 7}
RUNS = ["demo", "demo-product"]


@pytest.fixture(scope="module")
def served():
    """A server whose folder is the repository, where there are runs, and its address without a token."""
    here = Path.cwd()
    os.chdir(ROOT)
    try:
        with kgen.Server(binary=BINARY, device="emu") as server:
            yield server
    finally:
        os.chdir(here)


@pytest.fixture(scope="module")
def job_schema(served):
    document = httpx.get(f"{served.url}/openapi.json", headers={"Authorization": f"Bearer {served.token}"}).json()
    return {"$ref": "#/components/schemas/JobView", "components": document["components"]}


@pytest.fixture(params=["stdio", "http"])
def ask(request, served):
    """Runs `talk(client)` with a client that is connected in one way of two."""

    async def stdio(talk, mode):
        program = mcp.StdioServerParameters(
            command=BINARY, args=["mcp", "--device", "emu"], cwd=ROOT, env=kgen.binary.environment()
        )
        async with mcp.Client(program, mode=mode, read_timeout_seconds=60) as client:
            return await talk(client)

    async def http(talk, mode):
        headers = {"Authorization": f"Bearer {served.token}"}
        async with httpx2.AsyncClient(headers=headers, timeout=60) as carrier:
            transport = streamable_http_client(f"{served.url}/mcp", http_client=carrier)
            async with mcp.Client(transport, mode=mode, read_timeout_seconds=60) as client:
                return await talk(client)

    way = stdio if request.param == "stdio" else http
    return lambda talk, mode="auto": asyncio.run(way(talk, mode))


def words(result):
    return "".join(block.text for block in result.content)


def fits(result, name):
    """Checks the structured content against the schema of a command's document, and returns the content."""
    schema = json.loads((ROOT / "docs/schemas" / f"{name}.json").read_text())
    jsonschema.validate(result.structured_content, schema)
    return result.structured_content


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_client_of_either_generation_finds_the_tools(ask, mode):
    async def talk(client):
        return client.session.server_info, client.session.instructions, (await client.list_tools()).tools

    server, instructions, tools = ask(talk, mode)
    assert server.name == "kgen"
    assert "infra_error" in instructions
    assert sorted(tool.name for tool in tools) == ["compare", "evaluate", "list_runs", "profile", "show_op"]
    for tool in tools:
        jsonschema.validators.validator_for(tool.input_schema).check_schema(tool.input_schema)
        assert tool.description
        assert tool.annotations.read_only_hint


def test_show_op(ask):
    async def talk(client):
        return [await client.call_tool("show_op", {"op": op, "dtypes": ["f32"]}) for op in ("relu", "rleu")]

    shown, unknown = ask(talk)
    assert not shown.is_error
    assert shown.structured_content["op"] == "relu"
    assert shown.structured_content["prompt"] == words(shown)
    assert "/*@plan" in words(shown)
    assert unknown.is_error
    assert unknown.structured_content["kind"] == "unknown_op"
    assert "relu" in words(unknown)


def test_evaluate(ask, job_schema):
    async def talk(client):
        calls = [{"source": RIGHT}, {"source": WRONG}, {"source": RIGHT, "level": "compile"}, {"source": "I give up"}]
        return await asyncio.gather(*(client.call_tool("evaluate", {**KERNEL, **call}) for call in calls))

    found = ask(talk)
    for answer in found:
        assert not answer.is_error
        jsonschema.Draft202012Validator(job_schema).validate(answer.structured_content)
    results = [kgen.Job.from_json(answer.structured_content).result for answer in found]
    assert [(result.compiled, result.correct) for result in results] == [
        (True, True),
        (True, False),
        (True, None),
        (False, False),
    ]
    assert "wrong_output" in words(found[1])
    assert words(found[1]) == results[1].feedback


def test_wrong_calls_are_refused_with_a_reason(ask):
    async def talk(client):
        calls = [{"source": RIGHT, "level": "time"}, {"source": ""}, {"source": RIGHT, "no_such": 1}, {}]
        found = [await client.call_tool("evaluate", {**KERNEL, **call}) for call in calls]
        with pytest.raises(mcp.MCPError, match="not found"):
            await client.call_tool("no_such", {})
        return found

    timed, empty, *malformed = ask(talk)
    assert (timed.is_error, timed.structured_content["kind"]) == (True, "no_gpu")
    assert (empty.is_error, empty.structured_content["field"]) == (True, "source")
    assert all(answer.is_error for answer in malformed)
    assert "no_such" in words(malformed[0])
    assert "source" in words(malformed[1])


def test_stored_runs(ask):
    async def talk(client):
        calls = [("list_runs", {}), ("compare", {"runs": RUNS}), ("compare", {"runs": ["demo", "no_such"]})]
        return [await client.call_tool(*call) for call in calls]

    listed, compared, unknown = ask(talk)
    assert not listed.is_error
    assert {"demo", "demo-product"} <= {row["run"] for row in fits(listed, "list-runs")["data"]}
    assert "demo-product" in words(listed)
    assert not compared.is_error
    assert fits(compared, "compare")["command"] == "compare"
    assert words(compared)
    assert unknown.is_error
    assert "no_such" in words(unknown)


def test_profile_says_that_it_needs_a_gpu(ask):
    async def talk(client):
        return await client.call_tool("profile", {"op": "relu", "source": RIGHT})

    found = ask(talk)
    document = fits(found, "eval")
    if found.is_error:
        assert document["error"]["kind"] == "device"
        assert "GPU" in words(found)


def test_a_server_wants_its_token(served):
    assert httpx.post(f"{served.url}/mcp", json={}).status_code == 401
