"""The part of a call that libraries have in common."""

from dataclasses import dataclass

from ..precision import PRECISIONS
from ..refusal import need, torch
from ..tensors import dtype_name, dtype_of, overload_of

NOT_MEASURED = {"peak_bytes": None, "workspace_bytes": None}

# Arguments that hold no data of the type computed in.
OTHER_TYPES = {"condition": "bool", "target": "i64"}


@dataclass
class Problem:
    """An op of a library with its arguments."""

    op: object
    # Tensors and other arguments, by the schema's names.
    tensors: dict
    options: dict
    # Element types and shapes of the outputs.
    dtypes: list
    shapes: list
    # The type that sums and functions are computed in: f32, or f64 where anything is f64.
    wide: object
    # Whether factors of f32 products may be rounded to TF32.
    tf32: bool
    device: object


class Call:
    """A call in a library."""

    # Whether the GPU is waited for before and after, since the library and torch's stream do not wait for each other.
    blocking = False

    def __call__(self):
        if not self.blocking:
            return self.enqueue()
        torch.cuda.synchronize()
        results = self.enqueue()
        torch.cuda.synchronize()
        return results

    def enqueue(self):
        """Returns tensors that torch's current stream waits for."""
        raise NotImplementedError

    def memory_use(self):
        """Bytes on the GPU by the library's own count."""
        return NOT_MEASURED

    def close(self):
        """Gives back memory that the library keeps for later."""


def offered(library, request, args):
    """The problem that a request is, where the library covers it."""
    name, impl = request.get("aten"), request["impl"]
    need(name in library.OPS, f"{impl} has no {name or request['op']} here")
    schema = overload_of(name)._schema
    values = {argument.name: argument.default_value for argument in schema.arguments} | dict(args)
    lists = [key for key, value in values.items() if isinstance(value, list) and any(map(torch.is_tensor, value))]
    need(not lists, f"{impl} takes no lists of tensors here")
    tensors = {key: value for key, value in values.items() if torch.is_tensor(value)}
    dtype = element_type(impl, library.DTYPES, tensors)
    dtypes = [dtype_of(output["dtype"]) for output in request["outputs"]]
    need(all(of.is_floating_point for of in dtypes), f"{impl} gives floating-point outputs only")
    options = {key: value for key, value in values.items() if key not in tensors}
    need(widens(dtype, options.get("dtype")), f"{impl} does not round its input to another `dtype` first")
    return Problem(
        op=library.OPS[name],
        tensors=tensors,
        options=options,
        dtypes=dtypes,
        shapes=[output["shape"] for output in request["outputs"]],
        wide=torch.float64 if torch.float64 in (dtype, *dtypes) else torch.float32,
        tf32=PRECISIONS[request["precision"]][0],
        device=next(iter(tensors.values())).device,
    )


def element_type(impl, known, tensors):
    """The one floating-point type of the tensors that hold data."""
    found = set()
    for name, tensor in tensors.items():
        this = dtype_name(tensor.dtype)
        if not (OTHER_TYPES.get(name) == this):
            found.add(this)
            need(this in known, f"{impl} is not called with {this} here (`{name}`)")
    need(len(found) == 1, f"{impl} is called with one element type, not with {' and '.join(sorted(found)) or 'none'}")
    return dtype_of(found.pop())


def widens(dtype, wanted):
    return wanted in (None, dtype) or wanted.is_floating_point and wanted.itemsize > dtype.itemsize


def numpy_name(dtype):
    """`float32` for `torch.float32`, as the libraries call it."""
    return str(dtype).removeprefix("torch.")
