"""verl: a reward function.

Interface: `compute_score(data_source, solution_str, ground_truth, extra_info)` of `custom_reward_function`, as
`verl/experimental/reward_loop/reward_manager/naive.py` calls it (verl 0.9.1); it may give a dict with `score`.

    custom_reward_function.path=pkg://kgen.adapters.verl  custom_reward_function.name=compute_score

`ground_truth` is the task. Members besides `score` are logged by verl for every sample, so they are always there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..client import Client
from ..protocol import Request
from ..reward import reward as default_reward
from . import _task


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Any = None,
    *,
    client: Client | None = None,
    reward: _task.Reward = default_reward,
    **others: Any,
) -> dict[str, float]:
    """Score of a reply. Members of `kgen.Request` among the keywords (`reward_kwargs`) are defaults of the task.

    Raises `InfraError` where the machine failed.
    """
    defaults = {name: value for name, value in others.items() if name in Request.__annotations__}
    members = _task.task(ground_truth, defaults)
    result = (client or _task.default_client()).evaluate(_task.source(solution_str), **members)
    score, right, compiled = float(reward(result)), float(bool(result.correct)), float(bool(result.compiled))
    return {"score": score, "acc": right, "compiled": compiled}


def make_compute_score(**keywords: Any) -> Callable[..., dict[str, float]]:
    """`compute_score` with a client, a reward or members of the request of one's own; it can be pickled."""
    return functools.partial(compute_score, **keywords)
