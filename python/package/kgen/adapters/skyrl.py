"""SkyRL: an environment of text.

Interface: `skyrl_gym.envs.base_text_env.BaseTextEnv` (skyrl-gym 0.4.0): `init`, `step(action)` to `{observations,
reward, done, metadata}`. Register it by `register(id="kgen", entry_point="kgen.adapters.skyrl:KgenEnv")`.

`extras["reward_spec"]["ground_truth"]` is the task; `extras["max_turns"]` (1) how many replies there may be. An
episode ends with a right kernel or the last turn; before that the findings are the next observation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..client import Client
from ..reward import reward as default_reward
from . import _task

if TYPE_CHECKING:
    Base = object
else:
    try:
        from skyrl_gym.envs.base_text_env import BaseTextEnv as Base
    except ImportError:
        Base = object


class KgenEnv(Base):
    """An episode on one task. Subclasses replace `reward`, `client` and `defaults` (members of the request)."""

    reward = staticmethod(default_reward)
    client: Client | None = None
    defaults: Mapping[str, Any] = {}

    def __init__(self, env_config: Any = None, extras: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        given = extras or {}
        self.task = _task.task(given["reward_spec"]["ground_truth"], self.defaults)
        self.turns, self.max_turns = 0, int(given.get("max_turns", 1))

    def init(self, prompt: list[dict[str, str]]) -> tuple[list[dict[str, str]], dict[str, Any]]:
        """The first observation is the data set's prompt."""
        return prompt, {}

    def step(self, action: str) -> dict[str, Any]:
        """Judges a reply. Raises `InfraError` where the machine failed."""
        self.turns += 1
        client = self.client or _task.default_client()
        result = client.evaluate(_task.source(action), **self.task)
        done = bool(result.correct) or self.turns >= self.max_turns
        observations = [] if done else [{"role": "user", "content": result.feedback}]
        metadata = {
            "verdict": result.verdict,
            "compiled": result.compiled,
            "correct": result.correct,
            "speedup": _task.speedup_of(result),
        }
        return {
            "observations": observations,
            "reward": float(self.reward(result)),
            "done": done,
            "metadata": metadata,
            "postprocessed_action": None,
        }

    def close(self) -> None:
        """Nothing is left open."""
