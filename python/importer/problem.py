"""From a file with its constants to a graph: makes the module, traces it, and writes it down for kgen."""

import inspect
import math
import re
import sys
import types

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_leaves

from graph import Tracer
from initialisation import Recorder, base_name, measured
from values import Leaf, Ref, Refused, line_of, reason

DTYPES = dict(zip("float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool".split(),
                  "f64 f32 f16 bf16 i64 i32 i16 i8 u8 bool".split()))  # fmt: skip
DROPPED = set("device layout pin_memory non_blocking memory_format".split())
LISTED = 4096
COUNTERS = ("num_batches_tracked", "running_mean", "running_var")


def dtype_name(dtype):
    name = DTYPES.get(str(dtype).removeprefix("torch."))
    if name is None:
        raise Refused(f"a tensor of {dtype}, which kgen does not have")
    return name


class Made:
    """A module, its inputs and where their values come from."""

    def __init__(self, source, request, values):
        self.path = source.path
        # Dataclasses and pickles look for the module of their classes.
        module = sys.modules["imported"] = types.ModuleType("imported")
        module.__file__ = source.path
        space = vars(module)
        self.step("the file", lambda: exec(source.code(values), space))
        function = request.get("function")
        for name in ("get_inputs", "get_init_inputs", function["name"] if function else request["class"]):
            if not callable(space.get(name)):
                kind = "class" if name == request.get("class") else "function"
                raise Refused(f"the file has no {kind} {name}")
        if function:
            self.module = Function(space[function["name"]])
        else:
            arguments = self.step("get_init_inputs()", space["get_init_inputs"])
            name = request["class"]
            self.module = self.step(f"{name}()", lambda: space[name](*arguments))
            if not isinstance(self.module, torch.nn.Module):
                raise Refused(f"{name} is no torch.nn.Module")
        self.module.train(not request["eval"])
        inputs = self.step("get_inputs()", space["get_inputs"])
        if not isinstance(inputs, (list, tuple)):
            raise Refused(f"get_inputs() gives a {type(inputs).__name__} and not a list of tensors")
        self.inputs = list(inputs)
        self.names = self.input_names()
        for name, value in zip(self.names, self.inputs):
            if not isinstance(value, torch.Tensor) and any(isinstance(v, torch.Tensor) for v in tree_leaves(value)):
                kind = type(value).__name__
                raise Refused(f"get_inputs() gives a {kind} of tensors for `{name}`; an input is a tensor or a number")

    def step(self, name, call):
        try:
            return call()
        except Refused:
            raise
        except Exception as error:
            raise Refused(f"{name} fails: {type(error).__name__}: {reason(error)}", line_of(error, self.path)) from error

    def input_names(self):
        call = self.module.call if isinstance(self.module, Function) else self.module.forward
        try:
            parameters = list(inspect.signature(call).parameters.values())
        except ValueError:
            parameters = []
        plain = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        return [plain[i] if i < len(plain) else f"arg{i}" for i in range(len(self.inputs))]

    def attributes(self):
        """Tensors that modules keep without registering them, with their paths."""
        for path, module in self.module.named_modules():
            for name, value in vars(module).items():
                if isinstance(value, torch.Tensor):
                    yield f"{path}.{name}".lstrip("."), value


class Function(torch.nn.Module):
    def __init__(self, call):
        super().__init__()
        self.call = call

    def forward(self, *args):
        return self.call(*args)


class Problem:
    """One variant: the graph of a module with the constants of the file at `values`."""

    def __init__(self, source, request, values, expected=None):
        self.values = values
        self.notes = []
        fake_mode = FakeTensorMode(allow_non_fake_inputs=True)
        self.recorder = Recorder(fake_mode)
        with self.recorder:
            made = Made(source, request, values)
        self.made = made
        self.tracer = Tracer(fake_mode, source.path, expected)
        for name, value in zip(made.names, made.inputs):
            if isinstance(value, torch.Tensor):
                self.tracer.leaf("input", value, name=name)
        for kind, named in (("parameter", made.module.named_parameters()), ("buffer", made.module.named_buffers())):
            for path, value in named:
                self.tracer.leaf(kind, value, path)
        attributes = list(made.attributes())
        paths = {id(self.tracer.keep(value)): path for path, value in attributes}
        out = self.tracer.run(lambda: made.module(*made.inputs))
        self.refuse_state(attributes)
        for leaf in self.tracer.leaves:
            if leaf.kind == "constant" and id(leaf.tensor) in paths:
                leaf.path = paths[id(leaf.tensor)]
        self.outputs = [self.tracer.ref(v) for v in tree_leaves(out) if isinstance(v, torch.Tensor)]
        if not self.outputs:
            raise Refused("forward gives no tensor")
        if not all(isinstance(v, torch.Tensor) for v in tree_leaves(out)):
            self.notes.append("outputs that are no tensors are left out")
        self.remove_dead_code()
        self.name_all()

    def refuse_state(self, attributes):
        """Counters and running statistics do not matter to the outputs; other state that forward changes would."""
        for leaf in self.tracer.leaves:
            if leaf.kind == "constant":
                continue
            entry = self.tracer.entries[id(leaf.tensor)]
            changed = self.tracer.ref_of(entry).source is not leaf
            if changed and (leaf.path or "").rpartition(".")[2] not in COUNTERS:
                raise Refused(f"forward changes its {leaf.kind} {leaf.path or leaf.name}")
        now = dict(self.made.attributes())
        for path, value in attributes:
            entry = self.tracer.entries.get(id(value))
            written = entry and entry.root().version
            if now.get(path) is not value or written:
                self.notes.append(f"forward changes {path}; this is its first call")
        if self.tracer.skipped_statistics and self.made.module.training:
            self.notes.append("running statistics are not outputs")

    def remove_dead_code(self):
        used, pending = set(), [ref.source for ref in self.outputs]
        while pending:
            source = pending.pop()
            if id(source) in used:
                continue
            used.add(id(source))
            if not isinstance(source, Leaf):
                pending += [v.source for v in refs((source.args, source.kwargs))]
        self.nodes = [n for n in self.tracer.nodes if id(n) in used]
        kept = [leaf for leaf in self.tracer.leaves if id(leaf) in used]
        order = ["input", "parameter", "buffer", "constant"]
        # Constants come as the graph uses them: their creation in Python may differ between versions.
        self.leaves = sorted(kept, key=lambda leaf: order.index(leaf.kind))
        unused = [leaf.name for leaf in self.tracer.leaves if leaf.kind == "input" and id(leaf) not in used]
        self.notes += [f"input {name} is not used" for name in unused]

    def name_all(self):
        taken = set()
        for leaf in self.leaves:
            leaf.name = unique(leaf.name or leaf.path or "constant", taken)
        for node in self.nodes:
            node.name = unique(base_name(node.func).strip("_"), taken)

    def signature(self):
        """The ops and how they hang together, without sizes and numbers."""
        place = {id(s): i for i, s in enumerate([*self.leaves, *self.nodes])}

        def form(value):
            if isinstance(value, Ref):
                return place[id(value.source)], value.index
            if isinstance(value, (list, tuple)):
                return tuple(map(form, value))
            if type(value) in (int, float):
                return type(value)
            return value

        leaves = tuple((leaf.kind, leaf.path, leaf.name, leaf.tensor.dim(), leaf.tensor.dtype) for leaf in self.leaves)
        nodes = tuple(
            (n.func, form(n.args), form(tuple(sorted(n.kwargs.items()))), tuple(t.dim() for t in n.outputs))
            for n in self.nodes
        )
        return leaves, nodes, form(self.outputs)

    def shapes(self):
        return [tuple(leaf.tensor.shape) for leaf in self.leaves]

    def written(self, samples):
        """This variant in JSON."""
        nodes = []
        for node in self.nodes:
            kwargs = {k: encoded(v) for k, v in node.kwargs.items() if k not in DROPPED}
            outputs = [{"dtype": dtype_name(t.dtype), "shape": list(t.shape)} for t in node.outputs]
            nodes.append({"name": node.name, "target": str(node.func), "args": [encoded(v) for v in node.args],
                          "kwargs": kwargs, "outputs": outputs, "line": node.line})  # fmt: skip
        return {"tensors": [self.tensor(leaf, samples) for leaf in self.leaves], "nodes": nodes,
                "outputs": [encoded(ref) for ref in self.outputs]}  # fmt: skip

    def tensor(self, leaf, samples):
        dtype = dtype_name(leaf.tensor.dtype)
        path = leaf.path
        return {"name": leaf.name, "path": path, "kind": leaf.kind, "dtype": dtype, "shape": list(leaf.tensor.shape),
                "init": self.init(leaf, samples)}  # fmt: skip

    def lost(self):
        """Leaves whose values are drawn and then changed in a way that is not followed."""
        return [leaf.name for leaf in self.leaves if (self.recorder.init_of(leaf.tensor) or {}).get("kind") == "lost"]

    def init(self, leaf, samples):
        init = self.recorder.init_of(leaf.tensor)
        if init is None:
            return described(leaf.tensor.detach(), leaf)
        if init["kind"] == "empty":
            self.notes.append(f"{leaf.path or leaf.name} is never given values; they are drawn from 0 to 1")
            return {"kind": "uniform", "low": 0.0, "high": 1.0}
        if init["kind"] != "lost":
            return {k: number(v) if isinstance(v, (int, float)) else v for k, v in init.items()}
        if leaf.name not in samples:
            raise Refused(f"how {leaf.path or leaf.name} is drawn is not understood")
        return measured(samples[leaf.name])


def refs(value):
    return [v for v in tree_leaves(value, is_leaf=lambda v: isinstance(v, Ref)) if isinstance(v, Ref)]


def unique(name, taken):
    name = re.sub(r"[^a-z0-9_]", "_", name.lower())
    name = name if re.match(r"[a-z_]", name) else f"_{name}"
    n, chosen = 0, name
    while chosen in taken:
        n += 1
        chosen = f"{name}_{n}"
    taken.add(chosen)
    return chosen


def encoded(value):
    if isinstance(value, Ref):
        return {"tensor": value.source.name, "index": value.index}
    if value is None:
        return {"none": True}
    if isinstance(value, bool):
        return {"bool": value}
    if isinstance(value, int):
        return {"int": value}
    if isinstance(value, float):
        return {"float": repr(value)}
    if isinstance(value, str):
        return {"str": value}
    if isinstance(value, torch.dtype):
        return {"dtype": dtype_name(value)}
    if isinstance(value, (list, tuple)):
        return {"list": [encoded(v) for v in value]}
    if isinstance(value, (torch.device, torch.layout, torch.memory_format)):
        return {"none": True}
    raise Refused(f"an argument of type {type(value).__name__}")


def number(value):
    """A number as JSON has it; infinities and NaN are strings."""
    if isinstance(value, bool):
        return int(value)
    return value if isinstance(value, int) or math.isfinite(value) else repr(value)


def described(value, leaf):
    """The formula or the list of a constant's values."""
    if value.numel() == 0:
        return {"kind": "values", "values": []}
    first = value.reshape(-1)[0]
    if not any(value.stride()) or bool((value == first).all()):
        if value.numel() > 1 or leaf.kind != "constant":
            return {"kind": "fill", "value": number(first.item())}
    found = value.numel() > 2 and (progression(value) or triangle(value))
    if found:
        return found
    if value.numel() <= LISTED:
        return {"kind": "values", "values": [number(v) for v in value.reshape(-1).tolist()]}
    where = f" ({leaf.path})" if leaf.path else ""
    raise Refused(f"a constant of {value.numel()} elements that no formula describes{where}")


def progression(value):
    flat = value.reshape(-1)
    start, step = flat[0].item(), (flat[1] - flat[0]).item() if value.dtype != torch.bool else 0
    made = torch.arange(flat.numel(), dtype=torch.float64) * step + start
    return {"kind": "arange", "start": start, "step": step} if torch.equal(made.to(value.dtype), flat) else None


def triangle(value):
    """A lower or upper triangle in the last two dimensions."""
    if value.dim() < 2 or min(value.shape[-2:]) < 2:
        return None
    sheets = value.reshape(-1, *value.shape[-2:])
    sheet, (rows, columns) = sheets[0], value.shape[-2:]
    lower, upper = sheet[-1, 0], sheet[0, -1]
    row, column = int((sheet[0] == lower).sum()), int((sheet[:, 0] != lower).sum())
    diagonal = row - 1 if row else -column
    inside = torch.ones(rows, columns, dtype=torch.bool).tril(diagonal)
    if not bool((sheets == torch.where(inside, lower, upper)).all()):
        return None
    low, high = number(lower.item()), number(upper.item())
    if low == 0 and high != 0:
        return {"kind": "triu", "diagonal": diagonal + 1, "inside": high, "outside": low}
    return {"kind": "tril", "diagonal": diagonal, "inside": low, "outside": high}
