"""Smaller versions of a problem: other constants under which the same graph comes out."""

import math
import re
import time

from constants import structural
from cost import MIDDLE, SMALL, excess, size, work
from problem import Problem
from values import Refused

TRACES = 60
# Where the smallest version there is costs a little more, it is taken all the same.
SLACK = 2
FLOOR = 3
DIVIDES = re.compile(r"group|head|patch|window|block")


class Group:
    """Slots that vary together: one, several that must be equal, or some that are multiples of the smallest."""

    def __init__(self, slots):
        self.slots = slots
        self.value = min(s.value for s in slots)
        self.factors = [s.value // self.value for s in slots]
        self.multiple = 1
        self.least = 1
        self.used = {self.value} if self.value > 1 else set()
        self.batch = all("batch" in s.name.lower() for s in slots)
        # Slots such as a number of heads, whose present values must divide this one.
        self.divisors = []

    def at(self, value):
        return {s.name: value * f for s, f in zip(self.slots, self.factors)}

    def value_in(self, values):
        """Its value among those of a version."""
        slot = self.slots[self.factors.index(1)]
        return values.get(slot.name, slot.value)

    def step(self, now):
        """What divides its value where the others have the values `now`."""
        return math.lcm(self.multiple, *(now.get(s.name, s.value) for s in self.divisors))

    def near(self, target, now=()):
        """An odd multiple of what divides the constant, close to `target`; one that no variant has yet."""
        step = self.step(dict(now))
        if self.value < 8:
            options = [v for v in range(max(2, self.least), self.value + 3) if v % step == 0]
            fresh = [v for v in options if v not in self.used] or options or [self.value]
            return min(fresh, key=lambda v: abs(v - target))
        target = max(self.least, min(target, self.value + 7))
        k = max(1, round(target / step))
        options = [j * step for j in range(max(1, k - 6), k + 8)]
        options = [v for v in options if v >= self.least and v > 1] or [step * -(-self.least // step)]
        awkward = [v for v in options if v % 32 and (v // step) % 2 and v not in self.used]
        fresh = awkward or [v for v in options if v not in self.used] or options
        return min(fresh, key=lambda v: abs(v - target))


class Search:
    """All traces of one file."""

    def __init__(self, source, request, original, deadline):
        self.source = source
        self.request = request
        self.original = original
        self.signature = original.signature()
        self.deadline = deadline
        self.expected = [node.func for node in original.tracer.nodes]
        self.tried = {}
        self.why = ""
        # The fewest elements there were with nearly all constants small.
        self.remains = math.inf
        self.limit = TRACES
        # What varies in the versions that were found.
        self.varied = []

    def reason(self):
        """Why nothing is small."""
        found = [p for p in self.tried.values() if p]
        if not found:
            return self.why or "no constant of the file is a size"
        least = min(found, key=work)
        return f"the smallest found has tensors of {size(least)} elements and takes {work(least) / 1e6:.3g} MFLOP"

    def spent(self):
        return len(self.tried) >= self.limit or time.process_time() > self.deadline

    def hopeless(self):
        """Whether parameters that no constant changes are too large for any version."""
        return MIDDLE["all"] < self.remains < math.inf

    def trace(self, values):
        """The problem with `values`, or None where it cannot be made or another graph comes out."""
        key = tuple(sorted(values.items()))
        if key in self.tried:
            return self.tried[key]
        if self.spent():
            return None
        found = None
        try:
            found = type(self.original)(self.source, self.request, values, self.expected)
            if found.signature() != self.signature:
                self.why, found = "another graph comes out", None
            elif min((n for s in found.shapes() for n in s), default=1) == 0:
                self.why, found = "a tensor has no elements", None
            elif any(0 in t.shape for n in found.nodes for t in n.outputs):
                self.why, found = "a tensor has no elements", None
        except Refused as refusal:
            self.why = str(refusal)
        self.tried[key] = found
        return found

    def values(self, groups, chosen):
        return {k: v for g, value in zip(groups, chosen) if value != g.value for k, v in g.at(value).items()}

    def choose(self, groups, aims):
        """A value for each group, those first that must divide others; extents differ so that no two are mistaken."""
        chosen, now = [None] * len(groups), {}
        dividing = {s.name for g in groups for s in g.divisors}
        for i in sorted(range(len(groups)), key=lambda i: groups[i].slots[0].name not in dividing):
            group = groups[i]
            first = group.slots[0].name in dividing
            value = group.near(min(aims[i], 6) if first else aims[i], now)
            if value in chosen and group.value >= 8 and group.multiple < 8 and not first:
                value = group.near(aims[i] + 2 * group.multiple, now)
            chosen[i] = value
            now |= group.at(value)
        return chosen

    def groups(self, structure):
        """What can vary and how, the quick ways first: all constants small at once, then all but one."""
        slots = self.source.variable(structure)
        if not slots:
            return
        large = [s for s in slots if s.value >= 8 or "batch" in s.name.lower()]
        tiny = [s for s in slots if s not in large]
        ways = [self.tied, self.at_once, self.at_once_divided, self.in_pairs]
        ways += [self.at_once_in_steps, self.all_but_one, self.one_by_one]
        for way in ways:
            found, now = way(large) or ([], {})
            for slot in tiny if found and not self.hopeless() else ():
                group = self.shrunk(Group([slot]), now)
                found += [group] if group else []
            if found:
                yield found

    def at_once(self, slots):
        """The slots as groups and small values for them all, or None."""
        return self.together([Group([s]) for s in slots], (9, 21, 45))

    def tied(self, slots):
        """All small, where literals that are one size are one group: `rand(32, 64), rand(32, 64)` has two sizes."""
        if len(slots) < 2 or not all("#" in s.name for s in slots):
            return None
        groups, left = [], list(slots)
        while left:
            slot = left.pop(0)
            equal = [s for s in left if s.value == slot.value]
            ways = [[slot], *([slot, s] for s in equal), [slot, *equal]]
            parts = next((way for way in ways if self.grown(way)), None)
            if parts is None:
                return None
            groups.append(Group(parts))
            left = [s for s in left if s not in parts]
        return self.together(groups, (9, 21, 45)) if len(groups) < len(slots) else None

    def grown(self, slots):
        return self.trace({s.name: s.value + 1 for s in slots})

    def at_once_divided(self, slots):
        """All small, with the divisibility that heads, groups and patches have now."""
        groups = [Group([s]) for s in slots]
        for group in groups:
            self.relate(group)
        if not any(group.divisors for group in groups):
            return None
        done = self.together(groups, (9, 21, 45))
        for group in groups if done else ():
            if group.divisors and self.trace(done[1] | group.at(done[1].get(group.slots[0].name, group.value) + 1)):
                group.divisors = []
        return done

    def relate(self, group):
        if not group.batch and not structural(group.slots[0].name):
            divide = [s for s in self.source.slots if s.value > 1 and DIVIDES.search(s.name.lower())]
            group.divisors = [s for s in divide if group.value % s.value == 0]

    def together(self, groups, starts):
        if not groups:
            return None
        for start in starts:
            aims = [3 if g.batch else start + 2 * (len(groups) - i) for i, g in enumerate(groups)]
            chosen = self.choose(groups, aims)
            now = self.values(groups, chosen)
            problem = self.trace(now)
            if not problem:
                continue
            self.remains = min(self.remains, size(problem))
            for group, value in zip(groups, chosen):
                if start == 9 or self.hopeless():
                    continue
                group.least = min(value, group.value)
                for lower in (3, 7, 13) if len(self.expected) < 40 else (9,):
                    if not group.batch and lower < group.least and self.trace(now | group.at(lower)):
                        group.least = lower
            return groups, now
        return None

    def at_once_in_steps(self, slots):
        """All small, each divisible by the power of two that divides it now, as heads and halvings ask for."""
        groups = [Group([s]) for s in slots]
        for group in groups:
            group.multiple = 1 if group.batch else math.gcd(group.value, 32)
            self.relate(group)
        chosen = self.choose(groups, [3 if g.batch else 9 for g in groups])
        now = self.values(groups, chosen)
        problem = self.trace(now) if groups else None
        if not problem:
            return None
        self.remains = min(self.remains, size(problem))
        for group, value in zip(groups, chosen):
            # A step that the graph does not need is dropped, and a value as small as it goes is looked for.
            if group.multiple == 1:
                continue
            if self.trace(now | group.at(value + 1)):
                group.multiple, group.divisors = 1, []
            while group.multiple > 1 and self.trace(now | group.at(value + group.multiple // 2)):
                group.multiple //= 2
            lower = [m for m in (group.multiple, 3 * group.multiple, 9) if 3 <= m < value and m % group.multiple == 0]
            group.least = next((v for v in lower if self.trace(now | group.at(v))), value) if not group.batch else 1
        return groups, now

    def all_but_one(self, slots):
        """One constant stays, and may then be free within limits of its own."""
        for slot in sorted(slots, key=lambda s: s.value):
            if self.spent() or len(slots) < 2:
                return None
            done = self.together([Group([s]) for s in slots if s is not slot], (9, 21))
            if done:
                groups, now = done
                group = self.shrunk(Group([slot]), now)
                return [*groups, group] if group else groups, now
        return None

    def in_pairs(self, slots):
        """Two constants are one, or one a multiple of the other, as a normalised extent is of what it normalises."""
        pairs = [(a, b) for i, a in enumerate(slots) for b in slots[i + 1 :] if a.value % b.value == 0 and b.value >= 8]
        for a, b in pairs[:12] if len(self.expected) < 40 else ():
            done = self.together([Group([a, b])] + [Group([s]) for s in slots if s not in (a, b)], (21,))
            if done:
                return done
        return None

    def one_by_one(self, slots):
        found, now, left = [], {}, list(slots)
        for slot in slots:
            if slot not in left:
                continue
            group = self.shrunk(Group([slot]), now)
            if group is None:
                equal = [s for s in left if s.value == slot.value]
                group = self.shrunk(Group(equal), now) if len(equal) > 1 else None
            if group:
                found.append(group)
                left = [s for s in left if s not in group.slots]
        # A constant may be free only once others are small, as block_len is in seq_len.
        for slot in [s for s in left if s.value >= 16]:
            group = self.shrunk(Group([slot]), now)
            found += [group] if group else []
        return found, now

    def shrunk(self, group, now):
        """The group with its least value and what must divide it, or None; `now` keeps what is small so far."""
        def fits(value):
            return self.trace(now | group.at(value))

        others = {now.get(s.name, s.value) for s in self.source.slots if s not in group.slots}
        usual = {2, 3, 4, 6, 7, 8, 16, 32}
        divisors = sorted(d for d in others | usual if 1 < d < group.value and group.value % d == 0)
        if group.value < 8:
            options = [group.value + 1, group.value - 1]
            if any([fits(v) for v in options if v > 1]):
                return group
            return None
        for multiple in [1, *divisors]:
            if self.spent():
                return None
            other = group.value - multiple
            if other < 2 or not fits(other):
                if "another graph" in self.why and multiple >= 2:
                    return None
                continue
            group.multiple = multiple
            ladder = [m for m in (3 if group.batch else 7, 13, 25, 41, 65, 97, 129, 193) if m > multiple or m == 7]
            steps = sorted({multiple * max(1, round(m / multiple)) for m in ladder} | {multiple, 3 * multiple})
            for value in [v for v in steps if 1 < v < other] + [other]:
                if fits(value):
                    group.least = value
                    now |= group.at(value)
                    return group
        return None

    def fitting(self, groups, target, limits):
        """A version with extents near `target` within `limits`: it gives way until it fits, or grows while it does."""
        best = None
        for attempt in range(9):
            # The order of the extents stays: a mask that is cut must be as long as what it is cut to.
            spread = [1 + 0.13 * ((len(groups) - 1 - i) % 5) for i in range(len(groups))]
            aims = [min(target, limits["batch"]) if g.batch else target * r for g, r in zip(groups, spread)]
            chosen = self.choose(groups, aims)
            problem = self.trace(self.values(groups, chosen))
            over = excess(problem, limits) if problem else math.inf
            if over <= 1 or over <= SLACK and target <= FLOOR:
                best = problem, chosen
                if over > 0.15 or target < 100 or target > 1000:
                    break
                target *= 2
            elif best or self.spent() or problem and target <= FLOOR:
                break
            elif problem:
                target = max(FLOOR, min(target * 0.8, target / over ** (1 / max(2, min(4, len(groups))))))
            else:
                target *= 0.85 if attempt % 2 else 1.2
        if not best:
            return None
        for group, value in zip(groups, best[1]):
            group.used.add(value)
        return best[0]

    def variants(self):
        """Pairs of a role and a problem, smaller than the original or beside it."""
        best = []
        for structure in (False, True):
            for groups in self.groups(structure):
                found = self.sized(groups)
                best = max(best, found, key=len)
                small = any(role == "small" for role, _ in found)
                if small:
                    self.varied = groups
                if small or self.spent() or self.hopeless():
                    return found if small else best
        return best

    def sized(self, groups):
        """Versions of three sizes and one for the device."""
        found = []
        fixed = min([size(p) for p in self.tried.values() if p], default=0)
        for target in (9, 20, 150) if fixed <= 4 * SMALL["all"] else ():
            problem = self.fitting(groups, target, SMALL)
            if problem and problem.values and all(problem.values != p.values for _, p in found):
                found.append(("small", problem))
        found.sort(key=lambda v: work(v[1]))
        if excess(self.original, SMALL) > 1 and fixed <= MIDDLE["all"]:
            problem = self.fitting(groups, 130, MIDDLE)
            if problem and problem.values and all(problem.values != p.values for _, p in found):
                found.append(("middle", problem))
        return found
