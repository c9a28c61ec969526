"""Compares exported modules with the originals in them, on the CPU: no kernel runs.

Reads the paths of exported modules on standard input, one a line. Each is run in the namespace of its original, as
KernelBench does: names of the original must stay, parameters and initial values must be equal, and results have the
original's structure, shapes and types. In place of the kernel the original computes, with the tensors that the
kernel is given. Exit status 1 if something differs.
"""

import sys
import types

import torch
from torch.utils._pytree import tree_flatten

FACTS = {"sm_count": 132, "smem_max": 232448, "l2_bytes": 52428800, "cc": 90}


def launched_by_the_original(runtime):
    """Lets the original compute what the kernel would; the plan is resolved as it would be."""
    def call_of(arguments, tensors, infer):
        layouts, result = infer()
        names = runtime._plan_names(arguments, layouts)
        plan = runtime._PLAN.resolve({**names, **FACTS}, runtime._tuned(arguments))
        assert any(step[0] == "launch" for step in plan.steps), "the plan launches nothing"
        given = {name: arguments[name] for name in runtime.TENSORS}
        return types.SimpleNamespace(run=lambda *_: computed(runtime, given), result=result)

    runtime._call_of, runtime._DEVICE = call_of, "cpu"


def computed(runtime, tensors):
    module = runtime.Original(*runtime.original.get_init_inputs())
    held = {part: tensors[name] for name, kind, part, _, _ in runtime.MODULE if kind == "path"}
    inputs = iter([tensors[name] for name, kind, _, _, _ in runtime.MODULE if kind == "input"])
    given = [next(inputs) if isinstance(value, torch.Tensor) else value for value in runtime.original.get_inputs()]
    returned = torch.func.functional_call(module, held, tuple(given))
    return [leaf for leaf in tree_flatten(returned)[0] if isinstance(leaf, torch.Tensor)]


def differences(path):
    """Yields what differs."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    original = {}
    exec(text, original)
    original = original["_kgen"].ORIGINAL
    names = {}
    exec(original, names)
    kept = {name: value for name, value in names.items() if not name.startswith("__")}
    exec(text, names)
    for name, value in kept.items():
        if names[name] is not value:
            yield f"`{name}` is another than the original's"
    runtime = names["_kgen"]
    launched_by_the_original(runtime)
    torch.manual_seed(3)
    theirs = names["Model"](*names["get_init_inputs"]())
    torch.manual_seed(3)
    ours = names["ModelNew"](*names["get_init_inputs"]())
    for one, other in ((theirs, ours), (ours, theirs)):
        one.load_state_dict(other.state_dict())
    torch.manual_seed(3)
    expected = names["Model"](*names["get_init_inputs"]()).state_dict()
    torch.manual_seed(3)
    found = names["ModelNew"](*names["get_init_inputs"]()).state_dict()
    if any(not torch.equal(value, found[name]) for name, value in expected.items()):
        yield "initial values differ"
    inputs = names["get_inputs"]()
    with torch.no_grad():
        expected, structure = tree_flatten(theirs(*inputs))
        found, own_structure = tree_flatten(ours(*inputs))
    if structure != own_structure:
        yield f"results are {own_structure}, the original's {structure}"
    for one, other in zip(found, expected):
        if isinstance(other, torch.Tensor):
            torch.testing.assert_close(one, other)


def main():
    n_modules, n_wrong = 0, 0
    for path in sys.stdin.read().split():
        n_modules += 1
        try:
            said = list(differences(path))
        except Exception as error:  # Whatever it is, the next module is looked at too.
            said = [f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"]
        n_wrong += bool(said)
        for what in said[:3]:
            print(f"{path}: {what}")
    print(f"{n_modules - n_wrong} of {n_modules} modules agree")
    return 1 if n_wrong or not n_modules else 0


if __name__ == "__main__":
    sys.exit(main())
