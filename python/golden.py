"""Dumps the golden vectors of the op catalogue. See README.md beside this file."""

import argparse
import filecmp
import os
import pathlib
import sys
import tempfile

# Before torch is loaded: plain kernels and one order of summation, whatever the processor offers.
os.environ["ATEN_CPU_CAPABILITY"] = "default"
os.environ["MKL_CBWR"] = "COMPATIBLE"
# Some cases are legal but unusual, and torch warns about each.
os.environ["TORCH_CPP_LOG_LEVEL"] = "ERROR"

import torch  # noqa: E402

from golden import backward, dense, fold, place, pointwise, serving  # noqa: E402
from golden.record import OPS, PROBLEMS  # noqa: E402

# Families by name; those of one are written with one version of torch.
FAMILIES = {"forward": (pointwise, fold, dense, place), "serving": (serving,), "backward": (backward,)}
GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "crates" / "ops" / "golden"


def generate(families):
    """Runs every case of some families; the results are in `OPS`."""
    torch.set_num_threads(1)
    torch.backends.mkldnn.set_flags(False)
    for family in families:
        for name in family.__all__:
            getattr(family, name).cases()


def write(folder):
    """One file per op, one case a line."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, op in OPS.items():
        (folder / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in op.lines), encoding="ascii")


def differences(folder):
    """The files that differ between `folder` and a new run."""
    with tempfile.TemporaryDirectory() as new:
        write(pathlib.Path(new))
        names = {path.name for path in pathlib.Path(new).glob("*.jsonl")}
        _, differ, missing = filecmp.cmpfiles(folder, new, sorted(names), shallow=False)
        return differ + missing


def main():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, default=GOLDEN, help="folder of the files (%(default)s)")
    parser.add_argument("--check", action="store_true", help="compare a new run with the folder, write nothing")
    parser.add_argument("--family", choices=FAMILIES, default="forward", help="the ops that are run (%(default)s)")
    args = parser.parse_args()
    generate(FAMILIES[args.family])
    if PROBLEMS:
        sys.exit("\n".join(PROBLEMS))
    n_cases = sum(len(op.lines) for op in OPS.values())
    if args.check:
        differ = differences(args.out)
        for name in differ:
            print(f"differs: {name}")
        print(f"{len(OPS)} ops, {n_cases} cases, {len(differ)} files differ")
        sys.exit(1 if differ else 0)
    write(args.out)
    size = sum(path.stat().st_size for path in args.out.glob("*.jsonl"))
    print(f"{len(OPS)} ops, {n_cases} cases, {size} bytes, torch {torch.__version__}")


if __name__ == "__main__":
    main()
