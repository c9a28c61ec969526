"""Small versions of random sizes: they show which sizes an op file may draw."""

import random
import time

from cost import SMALL, excess
from values import Refused

# Versions in which every size is random.
RANDOM = 2
# Most traces, and seconds of the processor, beside those of the search.
TRACES = 60
SECONDS = 6
ATTEMPTS = 8


def drawn(search, small):
    """
    Versions beside the small ones: per group of constants two that differ from the smallest in it alone, one in
    which all these groups have their least values, and some in which all have random ones.
    """
    if not small or not search.varied:
        return []
    search.limit = len(search.tried) + TRACES
    search.deadline = time.process_time() + SECONDS
    base, rng = small[0].values, random.Random(search.source.text)
    for least in (1, 2):
        spans, alone = varied(search, small, base, rng, least)
        # Some modules refuse a single number, of which there is no variance.
        if search.trace(at_least(base, spans)):
            break
    together = []
    for _ in range(ATTEMPTS):
        values = at_random(base, spans, rng) if together else at_least(base, spans)
        problem = search.trace(values)
        if not problem:
            group = culprit(search, spans, values, base)
            del spans[group], alone[group]
            # It varies in none of them.
            together.clear()
        elif excess(problem, SMALL) <= 1:
            together.append(problem)
        if not spans or len(together) > RANDOM:
            break
    known = [base, *(p.values for p in small)]
    versions = [p for problems in alone.values() for p in problems] + together
    return [p for i, p in enumerate(versions) if p.values not in known and p not in versions[:i]] if spans else []


def varied(search, small, base, rng, least):
    """Per group that takes every value between others its least and largest one, and two versions."""
    spans, alone = {}, {}
    for group in search.varied:
        # A size that must be a multiple of another number is none of a range.
        lowest = lowest_of(search, group, base, least) if group.step(base) == 1 else None
        if not lowest:
            continue
        values = [group.value_in(p.values) for p in [*small, lowest]]
        span = min(values), max(values)
        between = within(search, base | group.at(rng.randint(*span)))
        if between:
            spans[group], alone[group] = span, [lowest, between]
    return spans, alone


def at_least(base, spans):
    values = dict(base)
    for group, (low, _) in spans.items():
        values |= group.at(low)
    return values


def at_random(base, spans, rng):
    values = dict(base)
    for group, span in spans.items():
        values |= group.at(rng.randint(*span))
    return values


def within(search, values):
    problem = search.trace(values)
    return problem if problem and excess(problem, SMALL) <= 1 else None


def lowest_of(search, group, base, least):
    """The version with the least value of a group, or one beside its value; None where there is none."""
    now = group.value_in(base)
    usual = formulas(search.trace(base))
    for value in [*range(least, min(4, now)), now // 2, now + 1]:
        problem = within(search, base | group.at(value)) if value >= least else None
        # A mask of one element is a number.
        if problem and formulas(problem) == usual:
            return problem
    return None


def formulas(problem):
    """The kinds of the formulas of constants."""
    try:
        return [problem.init(leaf, {})["kind"] for leaf in problem.leaves if leaf.kind in ("buffer", "constant")]
    except Refused:
        return None


def culprit(search, spans, values, base):
    """The group without whose value a version can be traced, else the last one."""
    for group in spans:
        if search.trace(values | group.at(group.value_in(base))):
            return group
    return list(spans)[-1]
