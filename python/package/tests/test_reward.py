import math
from dataclasses import replace

import pytest
from conftest import PLAN

import kgen
from kgen import Cases, InfraFailure, Result, Speedup

RIGHT = Result(compiled=True, correct=True, cases=Cases(9, 9))
TIMED = replace(
    RIGHT, speedup=Speedup("aten", 2.1, (2.0, 2.2), "faster"), baseline_us=40.0, kernel_us=19.0, floor_us=10.0
)


def timed(low, verdict="faster", **more):
    return replace(TIMED, speedup=Speedup("aten", low, (low, low + 0.1), verdict), **more)


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (replace(RIGHT, compiled=False, correct=None), 0.0),
        (replace(RIGHT, correct=False), 0.1),
        (replace(RIGHT, correct=None), 0.1),
        (RIGHT, 0.4),
        (TIMED, 0.4 + 0.6 * math.log(2) / math.log(4)),
        (timed(9.0), 1.0),
        (timed(0.5, "slower"), 0.4),
        (timed(0.0, "unclear"), 0.4),
        (timed(0.95, "unclear", baseline_us=10.0), 1.0),
        (timed(0.8, "slower", baseline_us=10.0), 0.4),
        (timed(2.0, floor_us=None), 0.4),
    ],
)
def test_reward(result, expected):
    assert kgen.reward(result) == pytest.approx(expected)


def test_the_shares_can_be_chosen():
    assert kgen.reward(RIGHT, base=(0.0, 1.0)) == 1.0
    assert kgen.reward(TIMED, base=(0.2, 0.2)) == pytest.approx(0.7)


def test_a_failure_of_the_machine_has_no_reward():
    broken = Result(None, None, infra_error=InfraFailure("device", "lost", True))
    with pytest.raises(kgen.InfraError, match="lost"):
        kgen.reward(broken)
    with pytest.raises(kgen.InfraError):
        kgen.reward(Result(None, None))


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (f"Words\n```cuda\nint a;\n```\n```cpp\n{PLAN}```\nand\n```text\nno\n```\n", PLAN),
        (f"```cuda\n{PLAN}// 1\n```\n~~~ cuda\n{PLAN}// 2\n~~~", PLAN + "// 2\n"),
        (f"<think>```cuda\n{PLAN}```</think>\n```cuda\n{PLAN}// said\n```", PLAN + "// said\n"),
        (f"````\n```\n{PLAN}```\n````", f"```\n{PLAN}```\n"),
        (f"```cuda\r\n{PLAN}```\r\n", PLAN),
        (PLAN, PLAN),
        ("I give up", "I give up"),
        (f"```cuda\n{PLAN}", f"```cuda\n{PLAN}"),
        ("", ""),
    ],
)
def test_extract(reply, expected):
    assert kgen.extract(reply) == expected
