"""Writes into tensors as functional ops: a write gives the target, and what it is a view of, new values."""

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._pytree import tree_map

from initialisation import key_of
from values import Entry

aten = torch.ops.aten
SAME_SHAPE = set("alias detach contiguous to dropout expand slice".split())
# Dropout that is off, in place.
UNCHANGED = {"dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"}


def enter(tracer, tensor, ref, source, again, func, args, index=0):
    """Records a new tensor; one that shares the memory of `source` is its view."""
    parent = None
    if source is not None and tensor is not source:
        origin = tracer.fakes.get(id(source), source)
        if key_of(tensor) == key_of(origin):
            parent = tracer.entry(source)
    tracer.register(tensor, Entry(ref, parent, again if parent else None, func, (*args, index)))


def note_constant(tracer, func, args, out):
    """Remembers how views of constants arise: one of them may be written to with something that is no constant."""
    source = args[0] if args and isinstance(args[0], torch.Tensor) else None
    outs = out if isinstance(out, (tuple, list)) else [out]
    for i, tensor in enumerate(outs):
        if isinstance(tensor, torch.Tensor) and source is not None and tensor is not source:
            if key_of(tensor) == key_of(source):
                tracer.constant_views[id(tracer.keep(tensor))] = (tracer.keep(source), func, args, i, tensor)


def promote(tracer, tensor):
    """A constant that is written to with computed values becomes a value of the graph."""
    made = tracer.constant_views
    tracer.promoted.add(key_of(tensor))
    if id(tensor) in tracer.entries:
        return
    if id(tensor) not in made:
        tracer.register(tensor, Entry(tracer.constant(tensor)))
        return
    source, func, args, index, _ = made[id(tensor)]
    promote(tracer, source)
    rest = args[1:]
    again = lambda ref: tracer.emit(func, (ref, *rest), {})[index]
    parent = tracer.entries[id(source)]
    tracer.register(tensor, Entry(again(tracer.ref_of(parent)), parent, again, func, (*args, index)))


def write(tracer, func, name, args, kwargs):
    """An op that writes into its first argument."""
    target = args[0]
    writes = [a.name for a in func._schema.arguments if a.alias_info is not None and a.alias_info.is_write]
    if not isinstance(target, torch.Tensor) or len(writes) != 1 or writes[0] != func._schema.arguments[0].name:
        raise tracer.refused(f"{func} writes into an argument, which is not supported")
    if id(target) not in tracer.entries and not isinstance(target, FakeTensor):
        for id_, (_, _, _, _, view) in list(tracer.constant_views.items()):
            if key_of(view) == key_of(target):
                promote(tracer, view)
        promote(tracer, target)
    entry = tracer.entry(target)
    assign(tracer, entry, value_after(tracer, func, name, args, kwargs, target))


def value_after(tracer, func, name, args, kwargs, target):
    """The Ref of what the target holds after the op."""
    if name in ("fill_", "zero_"):
        value = args[1] if name == "fill_" else 0
        if isinstance(value, torch.Tensor):
            if not tracer.is_constant(value):
                return broadcast(tracer, tracer.ref(value), value, target)
            value = value.item()
        return tracer.constant(tracer.keep(tracer.uniform_value(target.shape, value, target.dtype)))
    if name == "copy_":
        return broadcast(tracer, tracer.ref(args[1]), args[1], target)
    base = name.rstrip("_")
    base = {"__iand": "bitwise_and", "__ior": "bitwise_or", "__ixor": "bitwise_xor"}.get(base, base)
    functional = getattr(getattr(aten, base, None), func._overloadname, None)
    if functional is None or functional._schema.is_mutable:
        raise tracer.refused(f"{func} has no functional form")
    plain = tree_map(lambda v: tracer.ref(v) if isinstance(v, torch.Tensor) else v, (args, kwargs))
    if base in UNCHANGED:
        return plain[0][0]
    [ref] = tracer.emit(functional, *plain)
    made = tracer.example(ref)
    if made.shape != target.shape:
        raise tracer.refused(f"{func} changes the shape of its target")
    return ref if made.dtype == target.dtype else tracer.emit(aten.to.dtype, (ref, target.dtype), {})[0]


def broadcast(tracer, ref, value, target):
    if value.dtype != target.dtype:
        [ref] = tracer.emit(aten.to.dtype, (ref, target.dtype), {})
    if value.shape != target.shape:
        [ref] = tracer.emit(aten.expand.default, (ref, list(target.shape)), {})
    return ref


def assign(tracer, entry, ref):
    """Gives a tensor a new value, and the tensors it is a view of theirs."""
    if entry.parent:
        assign(tracer, entry.parent, scattered(tracer, entry, ref))
        entry.stamp = entry.root().version
    else:
        entry.version += 1
    entry.ref = ref


def scattered(tracer, entry, ref):
    """The parent's value after its view `entry` has become `ref`."""
    parent = tracer.ref_of(entry.parent)
    func, args, index = entry.func, entry.args[:-1], entry.args[-1]
    name = func._schema.name.split("::")[1]
    shape = list(tracer.example(parent).shape)
    if list(tracer.example(ref).shape) == shape and name in SAME_SHAPE:
        return ref
    if name == "select":
        return tracer.emit(aten.select_scatter.default, (parent, ref, *args[1:]), {})[0]
    if name == "slice":
        return tracer.emit(aten.slice_scatter.default, (parent, ref, *args[1:]), {})[0]
    if name in ("view", "reshape", "flatten", "unflatten", "unsqueeze", "squeeze", "view_as", "_unsafe_view"):
        return tracer.emit(aten.reshape.default, (ref, shape), {})[0]
    if name in ("transpose", "t", "numpy_T", "mT"):
        dims = args[1:] if name == "transpose" else (-2, -1)
        return tracer.emit(aten.transpose.int, (ref, *dims), {})[0] if len(shape) > 1 else ref
    if name == "permute":
        order = [d % len(shape) for d in args[1]]
        return tracer.emit(aten.permute.default, (ref, [order.index(d) for d in range(len(shape))]), {})[0]
    if name == "unbind":
        return tracer.emit(aten.select_scatter.default, (parent, ref, args[1] if len(args) > 1 else 0, index), {})[0]
    raise tracer.refused(f"a write into what {func} gives, a view")
