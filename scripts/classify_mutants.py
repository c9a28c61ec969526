#!/usr/bin/env python3
"""Turns what a GPU and compute-sanitizer said about the mutants into their classification.

    classify_mutants.py OUT     OUT: the folder that scripts/emulator_gpu.sh wrote

Writes crates/emu-corpus/mutants/classified.json. Entries whose `by` begins with `reason:` were decided by a person,
for what compute-sanitizer cannot see (a race between blocks, say), and stay where the GPU's outputs are right.
"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
TARGET = HERE / "../crates/emu-corpus/mutants/classified.json"


def main():
    out = pathlib.Path(sys.argv[1])
    runs = json.loads((out / "mutants.json").read_text())
    sanitizer = out / "sanitizer.json"
    tools = json.loads(sanitizer.read_text())["tools"] if sanitizer.exists() else {}
    known = json.loads(TARGET.read_text())["mutants"] if TARGET.exists() else {}
    # Mutants that were not run now stay as they are.
    classified = dict(known)
    for run in runs:
        name = run["id"]
        reports = [f"{tool}: {found[name][0]['what']}" for tool, found in sorted(tools.items()) if found.get(name)]
        if run["outcome"] == "changed":
            entry = {"nature": "changed", "by": run["detail"][:160]}
        elif known.get(name, {}).get("by", "").startswith("reason:"):
            entry = known[name]
        elif reports:
            entry = {"nature": "undefined", "by": reports[0][:160]}
        else:
            entry = {"nature": "equivalent", "by": "right outputs for all seeds and no report"}
        classified[name] = entry
    text = json.dumps({"mutants": classified}, indent=1, sort_keys=True)
    TARGET.write_text(text + "\n")
    for nature in ["changed", "undefined", "equivalent"]:
        print(nature, sum(entry["nature"] == nature for entry in classified.values()))


main()
