#!/usr/bin/env python3
"""Error over bound, e/T, of PyTorch's own GPU kernels under kgen's correctness rule.

    error_ratios.py --out OUT [--device cuda|cpu] [--tiny] [--only OP,..]

Runs honest library kernels (cuBLAS, cuDNN, SDPA backends, ATen), legitimate variants, relaxed settings (TF32, reduced
precision reduction), hardware approximations and cheats on the input distributions of the judge, and compares each with an
f64 evaluation on the rounded inputs. T is what crates/eval/src/bound.rs computes:

    T = 1/2 ulp_out(y) + 4 sqrt(L) (u max(|y|, hint) + s + 0.05 rms(s)),    u = 2^-24

with s measured by eight perturbed f64 runs, or in closed form for products and convolutions. Writes OUT/error_ratios.json
(every row) and OUT/error_ratios.md (one line per op, dtype and implementation). `--tiny --device cpu` tries the script
without a GPU. The cases are in error_ratio_cases/. Needs PyTorch, nothing else.
"""

import argparse
import collections
import json
import math
import pathlib
import platform
import subprocess
import time
import traceback
import warnings

import torch

U = 2.0**-24
DELTA_RMS = 2.0 * U / math.sqrt(3.0)
PERTURBED_RUNS = 8
# Digits after the leading one, exponent of the smallest normal number, smallest magnitude that rounds to infinity.
FORMATS = {
    torch.float32: (23, -126, (2 - 2.0**-24) * 2.0**127),
    torch.float16: (10, -14, 65520.0),
    torch.bfloat16: (7, -126, (2 - 2.0**-8) * 2.0**127),
    torch.float8_e4m3fn: (3, -6, math.inf),  # The op saturates.
}
SHORT = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.float8_e4m3fn: "f8e4m3"}
# Kinds of implementation: what the rule must accept, must refuse, and what is only looked at.
KINDS = ["library", "legit", "relaxed", "approx", "cheat"]


def ulp(dtype, y):
    """Distance between neighbours of `dtype` at |y|, in f64; 0 where y is not finite."""
    digits, lowest, _ = FORMATS[dtype]
    exponent = (y.abs().view(torch.int64) >> 52) - 1023
    step = ((exponent.clamp(min=lowest) - digits + 1023) << 52).view(torch.float64)
    return torch.where(torch.isfinite(y), step, 0.0)


def round_to(dtype, y):
    """The nearest value of `dtype`, ties to even, in one rounding (a cast from f64 would round twice)."""
    step = ulp(dtype, y)
    rounded = torch.where(step > 0, torch.round(y / step) * step, y)
    overflow = y.abs() >= FORMATS[dtype][2]
    return torch.where(overflow, torch.copysign(torch.full_like(y, math.inf), y), rounded)


def bound(dtype, y, s, length, hint):
    """T per element, as crates/eval/src/bound.rs."""
    scale = y.abs() if hint is None else torch.maximum(y.abs(), hint)
    floor = 0.05 * s.square().mean().sqrt()
    return 0.5 * ulp(dtype, y) + 4.0 * math.sqrt(max(length, 1)) * (U * scale + s + floor)


def drifting(dtype, y, s, length):
    """T with the drift of tensor cores, which cut off what does not fit their accumulator: 4 sqrt(L) + L / 8."""
    factor = 4.0 * math.sqrt(max(length, 1)) + length / 8.0
    return 0.5 * ulp(dtype, y) + factor * (U * y.abs() + s + 0.05 * s.square().mean().sqrt())


def perturbed(reference, wide, y):
    """Root mean square change of the result when all inputs are off by up to two roundoffs."""
    squares = torch.zeros_like(y)
    generator = torch.Generator(y.device).manual_seed(0x5EED)
    for _ in range(PERTURBED_RUNS):
        moved = [perturb(x, generator) for x in wide]
        change = reference(*moved) - y
        squares += torch.where(torch.isfinite(change), change.square(), 0.0)
    return (squares / PERTURBED_RUNS).sqrt()


def perturb(x, generator):
    if not torch.is_tensor(x) or x.dtype != torch.float64:
        return x
    noise = torch.rand(x.shape, generator=generator, dtype=torch.float64, device=x.device)
    return x * (1.0 + (4.0 * noise - 2.0) * U)


def ratios(got, y, rounded, limit):
    """e/T per element as crates/eval/src/compare.rs judges it: 0 for the correctly rounded value, infinite for a wrong special."""
    value = torch.where(torch.isinf(got), torch.copysign(torch.full_like(y, limit.overflow), got), got)
    error = (value - y).abs()
    ratio = torch.where(error == 0, 0.0, error / limit.bound)
    special = torch.isinf(y) | (torch.isnan(got) != torch.isnan(y))
    ratio = torch.where(special, math.inf, ratio)
    right = (got == rounded) | (torch.isnan(got) & torch.isnan(y))
    return torch.where(right, 0.0, ratio)


Limit = collections.namedtuple("Limit", "bound overflow")


def allclose(rounded, got, tolerance):
    close = (rounded - got).abs() <= tolerance + tolerance * rounded.abs()
    return bool((close | (rounded == got) | (torch.isnan(rounded) & torch.isnan(got))).all())


def largest(values):
    return float(values.max()) if values.numel() else 0.0


class Harness:
    """Measures implementations and keeps the rows."""

    def __init__(self, device, tiny, only):
        self.device = device
        self.tiny = tiny
        self.only = only
        self.rows = []
        self.generator = torch.Generator(device).manual_seed(20261121)

    def wants(self, op):
        return not self.only or op in self.only

    def size(self, *extents):
        """The extents, or small ones for a trial."""
        return tuple(n if n <= 32 or not self.tiny else 32 + n % 7 * 4 for n in extents)

    def measure(
        self, op, label, distribution, inputs, reference, variants, length, hint=None, spread=None, scale=None, drift=False
    ):
        """Adds a row per variant.

        inputs: tensors as the op takes them; reference: f64 tensors -> result; variants: (kind, name, function of the
        inputs); length: L; hint, spread and scale: functions of the f64 inputs (scale: see `needed`).
        """
        if not self.wants(op):
            return
        wide = [x.double() if torch.is_tensor(x) and x.is_floating_point() else x for x in inputs]
        y = reference(*wide)
        exact = distribution == "exact"
        if exact:
            s = torch.zeros_like(y)
        else:
            s = spread(*wide) if spread else perturbed(reference, wide, y)
            s = torch.where(torch.isfinite(s), s, 0.0)
        hints = None if hint is None or exact else torch.nan_to_num(hint(*wide), 0.0, 0.0, 0.0).expand_as(y)
        scales = None if scale is None or exact else scale(*wide)
        dtype = SHORT[inputs[0].dtype]
        for kind, name, run in variants:
            row = {
                "op": op,
                "dtype": dtype,
                "shape": label,
                "distribution": distribution,
                "kind": kind,
                "variant": name,
                "length": length,
                "drift": drift,
            }
            try:
                got = run(*inputs)
                row["repeats"] = same_bits(got, run(*inputs))
                self.judge(row, got, y, s, hints, scales, exact)
            except Exception as error:  # An implementation that cannot run here is a row of its own.
                row["not_run"] = f"{type(error).__name__}: {error}".splitlines()[0][:160]
            self.rows.append(row)

    def judge(self, row, got, y, s, hint, scale, exact):
        if got.shape != y.shape:
            raise ValueError(f"shape {tuple(got.shape)}, expected {tuple(y.shape)}")
        out = got.dtype
        got = got.double()
        rounded = round_to(out, y)
        limit = Limit(bound(out, y, s, row["length"], hint), FORMATS[out][2])
        ratio = ratios(got, y, rounded, limit)
        unequal = (got != rounded) & ~(torch.isnan(got) & torch.isnan(rounded))
        if exact:
            ratio = torch.where(unequal, math.inf, 0.0)
        row["out"] = SHORT[out]
        row["n"] = y.numel()
        row["ratio"] = largest(ratio)
        row["over"] = float((ratio > 1).double().mean())
        row["unequal"] = float(unequal.double().mean())
        if hint is not None:
            plain = Limit(bound(out, y, s, row["length"], None), limit.overflow)
            row["ratio_without_hint"] = largest(ratios(got, y, rounded, plain))
        if scale is not None:
            row["needed"] = needed(out, got, y, limit, scale)
        row["backendbench"] = allclose(rounded, got, 1e-2)
        tolerance = 1e-4 if out == torch.float32 else 1e-2
        row["kernelbench"] = allclose(rounded, got, tolerance) and not bool(torch.isnan(got).any())
        step = ulp(out, y)
        over = ((got - y).abs() - 0.5 * step) / (limit.bound - 0.5 * step)
        over = torch.where((got == rounded) | ~torch.isfinite(over), 0.0, over)
        row["slack"] = largest(over)
        if row["drift"]:
            drift = Limit(drifting(out, y, s, row["length"]), limit.overflow)
            row["ratio_with_drift"] = largest(ratios(got, y, rounded, drift)) if not exact else row["ratio"]
        self.rounding(row, out, got, y, rounded, limit)

    def rounding(self, row, out, got, y, rounded, limit):
        """Share of results that are not correctly rounded, share that T leaves open, and mean errors away from zero in
        ulp: against y (`bias`) and against the correctly rounded result (`shift`)."""
        finite = torch.isfinite(y) & torch.isfinite(got) & torch.isfinite(rounded)
        n = int(finite.sum())
        if out == torch.float32 or n == 0:
            return
        step = ulp(out, y)
        ulps = ((got - y) / step * torch.sign(y)).clamp(-2.0, 2.0)
        shift = ((got - rounded) / step * torch.sign(y)).clamp(-2.0, 2.0)
        open_share = (limit.bound / step - 0.5).clamp(0.0, 1.0)
        row["shift"] = float(torch.where(finite, shift, 0.0).sum())
        row["open"] = float(torch.where(finite, open_share, 0.0).sum())
        row["rounded"] = n
        row["misrounded"] = int(((got != rounded) & finite).sum())
        row["bias"] = float(torch.where(finite, ulps, 0.0).sum())


def needed(out, got, y, limit, scale):
    """The smallest c for which e <= T + c u_out scale everywhere, u_out the roundoff of the output type."""
    roundoff = 2.0 ** -(FORMATS[out][0] + 1)
    excess = ((got - y).abs() - limit.bound).clamp(min=0.0)
    excess = torch.where(got == round_to(out, y), 0.0, excess)
    return largest(torch.where(excess > 0, excess / (roundoff * scale), 0.0))


def same_bits(a, b):
    a, b = a.double(), b.double()
    return bool(((a == b) | (torch.isnan(a) & torch.isnan(b))).all())


def synchronize(device):
    if device == "cuda":
        torch.cuda.synchronize()


def machine(device):
    facts = {"torch": torch.__version__, "python": platform.python_version(), "device": device}
    if device == "cuda":
        facts["gpu"] = torch.cuda.get_device_name()
        facts["cuda"] = torch.version.cuda
        facts["cudnn"] = torch.backends.cudnn.version()
        query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        facts["driver"] = subprocess.run(query, capture_output=True, text=True, check=False).stdout.strip()
    return facts


def number(x):
    if x is None:
        return ""
    if math.isinf(x) or math.isnan(x):
        return "inf"
    return f"{x:.0f}" if x >= 100 else f"{x:.3g}"


def percent(x):
    return f"{100 * x:.3g}"


def summarise(rows):
    """One entry per (kind, op, dtypes, implementation)."""
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row["kind"], row["op"], row["dtype"], row.get("out", row["dtype"]), row["variant"]].append(row)
    return sorted(groups.items(), key=lambda item: (KINDS.index(item[0][0]), item[0][1:]))


def line(key, rows):
    """A line of the table: the worst over the shapes and distributions."""
    _, op, dtype, out, variant = key
    ran = [row for row in rows if "ratio" in row]
    types = dtype if dtype == out else f"{dtype} to {out}"
    if not ran:
        return f"| {op} | {types} | {variant} | 0 | not run: {rows[0]['not_run']} | | | | | | | | |"
    bounded = [row for row in ran if row["distribution"] != "exact"]
    exact = [row for row in ran if row["distribution"] == "exact"]
    worst = max(bounded, key=lambda row: row["ratio"], default=None)
    normal = [row["ratio"] for row in bounded if row["distribution"] == "normal"]
    where = f"{worst['distribution']} {worst['shape']}" if worst else ""
    pooled = [row for row in bounded if "rounded" in row]
    n = sum(row["rounded"] for row in pooled)
    cells = [
        op,
        types,
        variant,
        str(len(ran)),
        number(worst["ratio"]) if worst else "",
        where,
        f"{number(min(normal))} to {number(max(normal))}" if normal else "",
        percent(max((row["over"] for row in bounded), default=0)),
        f"{percent(sum(r['misrounded'] for r in pooled) / n)} (row: {percent(max(r['misrounded'] / r['rounded'] for r in pooled))})"
        if n
        else "",
        percent(sum(r["open"] for r in pooled) / n) if n else "",
        f"{sum(r['shift'] for r in pooled) / n:+.3f} (row: {max((r['shift'] / r['rounded'] for r in pooled), key=abs):+.3f})"
        if n
        else "",
        f"{sum(r['unequal'] == 0 for r in exact)}/{len(exact)}" if exact else "",
        f"{sum(r['backendbench'] for r in ran)}, {sum(r['kernelbench'] for r in ran)}",
    ]
    return "| " + " | ".join(cells) + " |"


HEADER = (
    "| op | dtype | implementation | rows | max e/T | where | on normal, by shape | worst % over T "
    "| misrounded % pooled (worst row) | left open by T % | bias ulp pooled (worst row) | exact rows equal | accepted by 1e-2, by KernelBench |\n"
    "|---|---|---|---:|---:|---|---|---:|---|---:|---|---|---|"
)


def table(rows):
    text = []
    current = None
    for key, group in summarise(rows):
        if key[0] != current:
            current = key[0]
            text += ["", f"## {current}", "", HEADER]
        text.append(line(key, group))
    return "\n".join(text)


def hints_and_scales(rows):
    text = [
        "",
        "## What hints do (library and legit)",
        "",
        "| op | dtype | implementation | with | without |",
        "|---|---|---|---:|---:|",
    ]
    for key, group in summarise(rows):
        hinted = [row for row in group if "ratio_without_hint" in row and key[0] in ("library", "legit")]
        if hinted:
            plain = max(row["ratio_without_hint"] for row in hinted)
            text.append(
                f"| {key[1]} | {key[3]} | {key[4]} | {number(max(r['ratio'] for r in hinted))} | {number(plain)} |"
            )
    text += [
        "",
        "## c in e <= T + c u_out scale",
        "",
        "| op | dtype | kind | implementation | c by distribution |",
        "|---|---|---|---|---|",
    ]
    for key, group in summarise(rows):
        scaled = [row for row in group if "needed" in row]
        distributions = list(dict.fromkeys(row["distribution"] for row in scaled))
        each = [f"{f} {number(max(r['needed'] for r in scaled if r['distribution'] == f))}" for f in distributions]
        if each:
            text.append(f"| {key[1]} | {key[2]} to {key[3]} | {key[0]} | {key[4]} | {', '.join(each)} |")
    return "\n".join(text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    from error_ratio_cases import GROUPS

    args.out.mkdir(parents=True, exist_ok=True)
    facts = machine(args.device)
    harness = Harness(args.device, args.tiny, set(filter(None, args.only.split(","))))
    times = {}
    for group in GROUPS:
        start = time.monotonic()
        try:
            group(harness)
            synchronize(args.device)
        except Exception:  # The other groups still count.
            traceback.print_exc()
        times[group.__name__] = round(time.monotonic() - start, 2)
        print(group.__name__, times[group.__name__], "s", len(harness.rows), "rows", flush=True)
        document = {"machine": facts, "seconds": times, "rows": harness.rows}
        (args.out / "error_ratios.json").write_text(json.dumps(document) + "\n")
    text = f"{json.dumps(facts)}\n{table(harness.rows)}\n{hints_and_scales(harness.rows)}\n"
    (args.out / "error_ratios.md").write_text(text)
    failures = [row for row in harness.rows if "not_run" in row]
    print(len(harness.rows), "rows,", len(failures), "not run")
    for row in {(r["op"], r["dtype"], r["variant"], r["not_run"]) for r in failures}:
        print("not run:", *row)


if __name__ == "__main__":
    main()
