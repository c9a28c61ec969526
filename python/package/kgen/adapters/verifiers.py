"""verifiers: a taskset with a reward.

Interface: `verifiers.v1` (verifiers 0.4.0): a `Taskset` whose `load` yields `Task`s, with methods marked
`@vf.reward` and `@vf.metric`, which take the place of the earlier rubrics. An exception of a reward is an error
of the rollout there, and no reward of 0.

An id of a taskset is a module without dots, so give it one, say `kernels.py`:

    from kgen.adapters.verifiers import KgenTaskset
    __all__ = ["KgenTaskset"]

and run `vf-eval kernels --env.taskset.ops '["relu", "softmax"]'`.
"""

from __future__ import annotations

import asyncio
import pkgutil
from collections.abc import Iterator
from typing import Any

import verifiers.v1 as vf

from .. import Result
from . import _task

__all__ = ["KgenTaskset"]


class KgenTaskConfig(vf.TaskConfig):  # type: ignore[misc]
    """The reward: a `module:function` of a result."""

    reward: str = "kgen:reward"


class KgenConfig(vf.TasksetConfig):  # type: ignore[misc]
    """Ops to ask for, and members of the request for all of them (`level`, `dtypes`, ...)."""

    ops: list[str] = ["relu"]  # noqa: RUF012 - pydantic copies it
    request: dict[str, Any] = {}  # noqa: RUF012
    task: KgenTaskConfig = KgenTaskConfig()


class KgenData(vf.TaskData):  # type: ignore[misc]
    """A task's request."""

    request: dict[str, Any]


class KgenTask(vf.Task[KgenData, vf.State, KgenTaskConfig]):  # type: ignore[misc]
    """One op."""

    async def result(self, trace: Any) -> Result:
        """The result of the last reply; an equal request is the same job, so that it is judged once."""
        client = _task.default_client()
        return await asyncio.to_thread(client.evaluate, _task.source(trace.last_reply), **self.data.request)

    @vf.reward  # type: ignore[untyped-decorator]
    async def kernel_reward(self, trace: Any) -> float:
        """The reward; it raises `InfraError` where the machine failed."""
        return float(pkgutil.resolve_name(self.config.reward)(await self.result(trace)))

    @vf.metric  # type: ignore[untyped-decorator]
    async def correct(self, trace: Any) -> float:
        """1 for a right kernel."""
        return float(bool((await self.result(trace)).correct))


class KgenTaskset(vf.Taskset[KgenTask, KgenConfig]):  # type: ignore[misc]
    """A task per op, with kgen's own first prompt."""

    def load(self) -> Iterator[KgenTask]:
        """Yields the tasks."""
        client = _task.default_client()
        dtypes = self.config.request.get("dtypes")
        for op in self.config.ops:
            prompt = client.prompt(op, dtypes=dtypes)
            yield KgenTask(
                KgenData(name=op, prompt=prompt, request={**self.config.request, "op": op}), self.config.task
            )
