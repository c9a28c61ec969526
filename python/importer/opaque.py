"""Modules without a graph: of a version, its tensors and the extents of its results are all that is known."""

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_leaves, tree_map

from check import real
from graph import Tracer
from initialisation import Recorder
from problem import COUNTERS, Made, Problem, dtype_name
from values import Refused, line_of

# Elements of a version that may be run here.
MOST = 400_000_000


class Opaque(Problem):
    """One version of a module that runs for real, twice."""

    def __init__(self, source, request, values, _expected=None):
        self.values = values
        self.notes = []
        fake_mode = FakeTensorMode(allow_non_fake_inputs=True)
        self.recorder = Recorder(fake_mode)
        with self.recorder:
            self.made = Made(source, request, values)
        self.tracer = Tracer(fake_mode, source.path)
        for name, value in zip(self.made.names, self.made.inputs):
            if isinstance(value, torch.Tensor):
                self.tracer.leaf("input", value, name=name)
        module = self.made.module
        for kind, named in (("parameter", module.named_parameters()), ("buffer", module.named_buffers())):
            for path, value in named:
                if path.rpartition(".")[2] not in COUNTERS:
                    self.tracer.leaf(kind, value, path)
        self.leaves = [leaf for leaf in self.tracer.leaves if self.has_formula(leaf)]
        self.nodes, self.outputs = [], []
        if sum(leaf.tensor.numel() for leaf in self.leaves) > MOST:
            raise Refused("it is too large to be run here, and has no graph")
        self.results = self.run(source, request)
        self.name_all()

    def has_formula(self, leaf):
        """Whether a kernel can be given the tensor; a table that no formula describes belongs to the code."""
        try:
            self.init(leaf, {leaf.name: leaf.tensor})
        except Refused:
            if leaf.kind != "buffer":
                raise
            self.notes.append(f"{leaf.path} is a table of the module, and no argument")
            return False
        return True

    def run(self, source, request):
        """The results, which two calls on equal inputs agree on."""
        made = real(source, request, self.values)
        found = []
        for seed in (1, 2):
            torch.manual_seed(seed)
            inputs = tree_map(lambda v: v.clone() if isinstance(v, torch.Tensor) else v, made.inputs)
            try:
                with torch.no_grad():
                    returned = made.module(*inputs)
            except Exception as error:
                first = (str(error).splitlines() or [""])[0]
                raise Refused(f"forward fails: {type(error).__name__}: {first}", line_of(error, source.path)) from error
            found.append([v for v in tree_leaves(returned) if isinstance(v, torch.Tensor)])
        if not found[0]:
            raise Refused("forward gives no tensor")
        for one, other in zip(*found, strict=True):
            if one.shape != other.shape or not torch.allclose(one, other, rtol=1e-4, atol=1e-5, equal_nan=True):
                raise Refused("forward gives other results each time it is called")
        return found[0]

    def signature(self):
        leaves = tuple((leaf.kind, leaf.path, leaf.name, leaf.tensor.dim(), leaf.tensor.dtype) for leaf in self.leaves)
        return leaves, tuple((result.dim(), result.dtype) for result in self.results)

    def written(self, samples):
        results = [{"dtype": dtype_name(v.dtype), "shape": list(v.shape)} for v in self.results]
        return {**super().written(samples), "results": results}
