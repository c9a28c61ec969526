"""Takes the kernel file out of a model's reply."""

from __future__ import annotations

import re

PLAN = "/*@plan"
FENCED = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`]*\n(.*?)^[ \t]*\1[`~]*[ \t]*$", re.S | re.M)


def extract(reply: str) -> str:
    """The last fenced block with a launch plan (`/*@plan`); the reply itself where there is none.

    The model's thoughts, up to `</think>`, do not count.
    """
    answer = re.split(r"</think(?:ing)?>", reply.replace("\r\n", "\n"))[-1]
    blocks = [text for _, text in FENCED.findall(answer) if PLAN in text]
    return blocks[-1] if blocks else reply
