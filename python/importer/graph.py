"""Runs a module on fake tensors and keeps the ATen ops it calls, before any is decomposed, as a graph without mutation.

The ops are caught at the dispatch key that `torch.export` catches them at, with far less around them: a search for
small versions of a problem traces it dozens of times.
"""

import math
import sys

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensor
from torch.fx.experimental.proxy_tensor import ProxyTorchDispatchMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

import views
from initialisation import base_name, key_of, on_cpu
from values import Entry, Leaf, Node, Ref, Refused, line_of, reason

# A larger constant must be one value throughout, and takes no memory then.
FOLD_LIMIT = 1 << 24
SAME = set("detach alias contiguous clone lift lift_fresh lift_fresh_copy positive".split())
CASTS = set("to type_as _to_copy float double half bfloat16 long int bool _autocast_to_full_precision".split())
DROPOUTS = set("dropout feature_dropout alpha_dropout feature_alpha_dropout native_dropout".split())
RECURRENT = {"lstm", "gru", "rnn_tanh", "rnn_relu"}
# Calls that PyTorch takes apart: the catalogue lacks them, and has the parts.
DECOMPOSED = {"einsum"} | {f"{name}_cell" for name in RECURRENT}
# Where a norm's arguments say that it takes statistics of its input; the running ones do not matter then.
FROM_INPUT = {"batch_norm": 5, "instance_norm": 5}
BY_SHAPE = set("zeros_like ones_like full_like empty_like new_zeros new_ones new_full new_empty".split())
IGNORED = ("sym_", "size", "stride", "numel", "dim", "is_", "storage_offset", "_version", "device")
KNOWN_NOT_RANDOM = {"scaled_dot_product_attention", "rrelu"} | DROPOUTS | RECURRENT


class Tracer(ProxyTorchDispatchMode):
    """`ProxyTorchDispatchMode` is what torch allows at the key before autograd and decomposition."""

    def __init__(self, fake_mode, path, expected=None):
        TorchDispatchMode.__init__(self, torch._C.DispatchKey.PreDispatch)
        self.fake_mode = fake_mode
        self.path = path
        self.expected = expected
        self.nodes = []
        self.entries = {}
        self.fakes = {}
        self.owners = {}
        self.promoted = set()
        self.constants = {}
        self.constant_views = {}
        self.leaves = []
        self.kept = []
        self.skipped_statistics = 0
        self.current = (None, None)

    def __enter__(self):
        return TorchDispatchMode.__enter__(self)

    def __exit__(self, *error):
        return TorchDispatchMode.__exit__(self, *error)

    def refused(self, message):
        return Refused(message, *self.current)

    # Tensors.

    def keep(self, tensor):
        """Identities are keys, so nothing may be freed."""
        self.kept.append(tensor)
        return tensor

    def leaf(self, kind, tensor, path=None, name=None):
        """Makes `tensor` an input of the graph and returns what to call the module with."""
        if id(tensor) in self.entries:
            return tensor
        self.leaves.append(Leaf(kind, tensor, path, name))
        fake = tensor
        if not isinstance(tensor, FakeTensor):
            fake = self.fake_mode.from_tensor(tensor.detach())
            self.fakes[id(self.keep(tensor))] = fake
        self.register(self.keep(tensor), Entry(Ref(self.leaves[-1])))
        if fake is not tensor:
            self.register(fake, self.entries[id(tensor)])
        return tensor

    def register(self, tensor, entry):
        self.entries[id(self.keep(tensor))] = entry
        self.owners.setdefault(key_of(tensor), entry)

    def is_constant(self, tensor):
        known = id(tensor) in self.entries or isinstance(tensor, FakeTensor)
        return not known and key_of(tensor) not in self.promoted

    def entry(self, tensor):
        if id(tensor) in self.entries:
            return self.entries[id(tensor)]
        if isinstance(tensor, FakeTensor):
            # A draw kept as a plain attribute, or a module's parameter that is not registered.
            self.leaf("constant", tensor)
            return self.entries[id(tensor)]
        if key_of(tensor) in self.promoted:
            raise self.refused("a view made earlier of a tensor that is then written to")
        return Entry(self.constant(tensor))

    def constant(self, tensor):
        key = id(tensor), tensor._version
        if key not in self.constants:
            self.keep(tensor)
            value = tensor.detach()
            shared = value.numel() > FOLD_LIMIT and not any(value.stride())
            leaf = Leaf("constant", value if shared else value.clone())
            self.leaves.append(leaf)
            self.constants[key] = Ref(leaf)
        return self.constants[key]

    def ref(self, tensor):
        """The present value of a tensor; a view of something written to since is taken anew."""
        return self.ref_of(self.entry(tensor))

    def ref_of(self, entry):
        root = entry.root()
        if entry.parent and entry.stamp != root.version:
            entry.ref = entry.again(self.ref_of(entry.parent))
            entry.stamp = root.version
        return entry.ref

    # Nodes.

    def emit(self, func, args, kwargs, line=None):
        """Adds a node whose arguments hold Refs and returns the Refs of its outputs."""
        fake = tree_map(lambda v: self.example(v) if isinstance(v, Ref) else v, (args, kwargs))
        with self.fake_mode, torch.no_grad():
            out = func(*fake[0], **fake[1])
        return self.add(func, args, kwargs, out, line)

    def add(self, func, args, kwargs, out, line=None):
        tensors = list(out) if isinstance(out, (tuple, list)) else [out]
        node = Node(func, args, kwargs, [t for t in tensors if isinstance(t, torch.Tensor)], line or self.current[0])
        at = len(self.nodes)
        if self.expected is not None and (at >= len(self.expected) or self.expected[at] is not func):
            raise Refused("another graph comes out")
        self.nodes.append(node)
        return [Ref(node, i) for i in range(len(node.outputs))]

    def example(self, ref):
        source = ref.source
        tensor = source.tensor if isinstance(source, Leaf) else source.outputs[ref.index]
        return self.fakes.get(id(tensor), tensor)

    def line_in_file(self):
        frame = sys._getframe(2)
        while frame:
            if frame.f_code.co_filename == self.path:
                return frame.f_lineno
            frame = frame.f_back
        return None

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = on_cpu(kwargs or {})
        name = base_name(func)
        self.current = self.line_in_file(), str(func)
        if name.startswith("_assert"):
            return None
        if name.startswith(IGNORED) or func.namespace in ("prim", "prims", "profiler"):
            with self.fake_mode:
                return func(*args, **kwargs)
        tensors = [t for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        if name in DECOMPOSED:
            with self:
                return func.decompose(*args, **kwargs)
        self.refuse_random(func, name, args, kwargs)
        if name in BY_SHAPE:
            return self.creation(func, name, args, kwargs)
        if all(map(self.is_constant, tensors)):
            return self.folded(func, name, args, kwargs, tensors)
        if func._schema.is_mutable and name.rstrip("_") not in SAME:
            return self.mutation(func, name, args, kwargs)
        out = self.executed(func, name, args, kwargs, tensors)
        self.record(func, name, args, kwargs, out)
        return out

    def refuse_random(self, func, name, args, kwargs):
        given = {a.name: v for a, v in zip(func._schema.arguments, args)} | kwargs
        base = name.rstrip("_")
        live = base in DROPOUTS and given.get("p", 0.5) != 0 and given.get("train", False) is not False
        live |= base == "scaled_dot_product_attention" and given.get("dropout_p", 0.0) != 0
        layers = given.get("num_layers", 1)
        live |= base in RECURRENT and given.get("dropout", 0) != 0 and given.get("train", False) and layers > 1
        if live:
            raise self.refused(f"{func} drops at random in training mode; import with --eval")
        if base == "rrelu" and given.get("training"):
            raise self.refused(f"{func} draws random slopes in training mode; import with --eval")
        if torch.Tag.nondeterministic_seeded in func.tags and base not in KNOWN_NOT_RANDOM:
            raise self.refused(f"forward draws random numbers: {func}")

    # Constants.

    def creation(self, func, name, args, kwargs):
        """zeros_like and its kin need no more of their argument than shape and type."""
        with self.fake_mode, torch.no_grad():
            like = func(*[self.fakes.get(id(a), a) if isinstance(a, torch.Tensor) else a for a in args], **kwargs)
        value = 1 if "ones" in name else kwargs.get("fill_value", args[-1]) if "full" in name else 0
        return self.uniform_value(like.shape, value.item() if isinstance(value, torch.Tensor) else value, like.dtype)

    def uniform_value(self, shape, value, dtype):
        if math.prod(shape) > FOLD_LIMIT:
            return torch.full((), value, dtype=dtype).expand(shape)
        return torch.full(shape, value, dtype=dtype)

    def folded(self, func, name, args, kwargs, tensors):
        """The op for real: nothing that an input or a parameter decides goes into it."""
        if name in ("zeros", "ones", "full", "empty") and math.prod(args[0]) > FOLD_LIMIT:
            value = {"ones": 1, "full": args[-1]}.get(name, 0)
            return self.uniform_value(args[0], value, kwargs.get("dtype") or torch.get_default_dtype())
        largest = max((t.numel() for t in tensors), default=0)
        if largest > 4 * FOLD_LIMIT and name not in ("expand", "view", "unsqueeze", "select", "slice"):
            raise self.refused(f"a constant of {largest} elements is too large to compute")
        out = func(*args, **kwargs)
        views.note_constant(self, func, args, out)
        return out

    # Ordinary ops.

    def executed(self, func, name, args, kwargs, tensors):
        if name in RECURRENT and "input" in func._overloadname:
            return self.recurrent(name, args)
        if self.promoted and func._schema.returns and all(key_of(t) in self.promoted for t in tensors):
            return func(*args, **kwargs)
        fake = tree_map(lambda v: self.fakes.get(id(v), v) if isinstance(v, torch.Tensor) else v, (args, kwargs))
        with self.fake_mode, torch.no_grad():
            return func(*fake[0], **fake[1])

    def recurrent(self, name, args):
        """torch finds the shapes of a recurrent layer by running all of its steps, which takes a minute."""
        state = args[1] if name == "lstm" else [args[1]]
        x, bidirectional = args[0], args[7]
        n = state[0].shape[-1] * (2 if bidirectional else 1)
        with self.fake_mode:
            out = torch.empty((*x.shape[:-1], n), dtype=x.dtype)
            return out, *(torch.empty(s.shape, dtype=x.dtype) for s in state)

    def record(self, func, name, args, kwargs, out):
        source = args[0] if args and isinstance(args[0], torch.Tensor) else None
        base = name.rstrip("_")
        if base in CASTS or base in SAME or base in DROPOUTS and base != "native_dropout":
            if out is source:
                return
            if out.dtype != source.dtype:
                dtype = out.dtype
                again = lambda ref: self.emit(torch.ops.aten.to.dtype, (ref, dtype), {})[0]
                ref = self.add(torch.ops.aten.to.dtype, (self.ref(source), dtype), {}, out)[0]
            else:
                again = lambda ref: ref
                ref = self.ref(source)
            views.enter(self, out, ref, source, again, func, args)
            return
        if base in FROM_INPUT and args[FROM_INPUT[base]]:
            self.skipped_statistics += args[3] is not None
            args = (*args[:3], None, None, *args[5:])
        plain = tree_map(lambda v: self.ref(v) if isinstance(v, torch.Tensor) else v, (args, kwargs))
        refs = self.add(func, *plain, out)
        results = [t for t in (out if isinstance(out, (tuple, list)) else [out]) if isinstance(t, torch.Tensor)]
        given = {id(self.fakes.get(id(t), t)) for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)}
        for i, (tensor, ref) in enumerate(zip(results, refs)):
            if id(tensor) in given:
                # An op that had nothing to do, such as broadcast_tensors of equal shapes, gives back what it got.
                continue
            again = lambda parent, i=i: self.emit(func, (parent, *plain[0][1:]), plain[1])[i]
            views.enter(self, tensor, ref, source, again, func, args, i)

    def mutation(self, func, name, args, kwargs):
        views.write(self, func, name, args, kwargs)
        return args[0]

    def run(self, call):
        try:
            with enable_python_dispatcher(), self:
                return call()
        except Refused:
            raise
        except (DataDependentOutputException, DynamicOutputShapeException) as error:
            op = self.current[1]
            raise self.refused(f"the computation depends on values: {op} reads a tensor's elements") from error
        except Exception as error:
            first = reason(error)
            line, op = self.current
            where = f"{op}: " if op else ""
            message = f"forward fails: {where}{type(error).__name__}: {first}"
            raise Refused(message, line_of(error, self.path) or line, op) from error
