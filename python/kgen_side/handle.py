"""An implementation with its arguments and outputs."""

import contextlib

from .implementations import IMPLEMENTATIONS, gems
from .libraries import Call
from .memory import Memory
from .precision import set_precision
from .refusal import Refusal, refusal_of, torch
from .tensors import dtype_name, dtype_of, value_of

# What these return behind the outputs that kgen asks for serves their backward passes.
LEADING = ("_embedding_bag.default",)


def in_bf16(call, outputs, device):
    """`call` with f32 products of bf16 factors; results that are announced as f32 are f32."""

    def called():
        with torch.autocast(torch.device(device).type, dtype=torch.bfloat16):
            results = flat(call())
        return [one.float() if of["dtype"] == "f32" else one for one, of in zip(results, outputs)]

    return called


class Handle:
    """An implementation bound to its arguments and the places of its outputs."""

    def __init__(self, server, request):
        self.memory = Memory(server.device, server.mappings)
        self.precision = request["precision"]
        self.impl = request["impl"]
        self.call = None
        self.leading = request.get("aten") in LEADING
        self.context = gems if request["impl"] == "flag_gems" else contextlib.nullcontext
        try:
            args = [(name, value_of(value, self.memory)) for name, value in request["args"]]
            self.outputs = request["outputs"]
            self.places = [self.memory.place(output) for output in self.outputs]
            with self.running():
                self.call = IMPLEMENTATIONS[request["impl"]](request, args, server.scratch)
                if self.precision == "low" and not self.is_library():
                    self.call = in_bf16(self.call, self.outputs, server.device)
        except BaseException:
            with contextlib.suppress(Refusal):
                self.memory.close()
            raise

    @contextlib.contextmanager
    def running(self):
        """The settings and the error handling of every call of this handle."""
        set_precision(self.precision)
        try:
            with torch.no_grad():
                yield
        except (Exception, SystemExit) as error:
            raise refusal_of(error, self.impl) from error

    def is_library(self):
        """Whether another library than PyTorch computes it."""
        return isinstance(self.call, Call)

    def compute(self):
        """Calls once and returns the outputs, which are as they were announced."""
        with self.running(), self.context():
            result = self.call()
            if result is None and self.impl == "aten":
                raise Refusal("unsupported", "PyTorch gives no tensor for these arguments")
            results = flat(self.without_gaps(result))
            if self.leading:
                results = results[: len(self.outputs)]
            self.check(results)
            return results

    def without_gaps(self, result):
        """A result in which a tensor without elements stands for a gradient that was not asked for."""
        if not isinstance(result, (list, tuple)) or len(result) != len(self.outputs):
            return result

        def standing_in(one, output):
            gap = one is None and output["shape"] == [0]
            return torch.empty(0, dtype=dtype_of(output["dtype"])) if gap else one

        return [standing_in(one, output) for one, output in zip(result, self.outputs)]

    def check(self, results):
        if len(results) != len(self.outputs):
            raise Refusal("wrong_outputs", f"{len(self.outputs)} outputs were announced, {len(results)} came")
        for i, (result, output) in enumerate(zip(results, self.outputs)):
            for key, found in [("dtype", dtype_name(result.dtype)), ("shape", list(result.shape))]:
                if found != output[key]:
                    raise Refusal("wrong_outputs", f"output {i} has the {key} {found}, not {output[key]}")

    def close(self):
        if self.is_library():
            self.call.close()
        self.call = None
        self.places = []
        self.memory.close()


def flat(result):
    """The tensors of a result, lists and tuples taken apart."""
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, (list, tuple)):
        return [tensor for item in result for tensor in flat(item)]
    raise Refusal("wrong_outputs", f"a {type(result).__name__} came where a tensor was announced")
