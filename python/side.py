"""The side process: it runs and times PyTorch implementations of ops on tensors that kgen holds.

    python -u side.py --socket PATH --device cuda:0|cpu

One line on stdout says that it is ready or why not; afterwards it answers JSON lines on the Unix socket PATH. README.md
beside this file describes the protocol. The process ends when its standard input closes. It needs the standard library and
torch; triton and flag_gems are used where they are installed.
"""

import argparse
import base64
import contextlib
import ctypes
import functools
import gc
import importlib.util
import json
import math
import mmap
import os
import platform
import socket
import statistics
import tempfile
import threading
import time
import traceback
import types
from importlib import metadata

# Small graphs gain nothing from a pool of compiling processes, and there is nothing left to end when this process ends.
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")

PROTOCOL = 1


class Refusal(Exception):
    """An answer other than `ok`: a kind of the protocol, one line, and perhaps more."""

    def __init__(self, kind, message, cause=None):
        super().__init__(message)
        self.kind = kind
        self.message = " ".join(str(message).split())[:500] or kind
        self.detail = cause and "".join(traceback.format_exception(cause)).strip()[-2048:]

    def record(self):
        record = {"kind": self.kind, "message": self.message}
        return {**record, "detail": self.detail} if self.detail else record


def bad(message):
    return Refusal("bad_request", message)


def need(condition, message):
    if not condition:
        raise Refusal("unsupported", message)


try:
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
except (ImportError, OSError) as error:
    torch = None
    TORCH_ERROR = Refusal("no_torch" if getattr(error, "name", None) == "torch" else "other", f"torch: {error}")


# The element types: their names in kgen and in torch.
NAMES = "f64 f32 f16 bf16 i64 i32 i16 i8 u8 bool f8e4m3 f8e5m2".split()
TORCH = "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool float8_e4m3fn float8_e5m2".split()
DTYPES = dict(zip(NAMES, TORCH))


def dtype_of(name):
    return getattr(torch, DTYPES[name])


def dtype_name(dtype):
    return next((name for name in NAMES if dtype_of(name) == dtype), str(dtype))


SCALARS = {"int": int, "float": float, "bool": bool, "str": str, "dtype": dtype_of, "none": lambda _: None}
PLAIN = {**SCALARS, "ints": list, "floats": lambda values: [float(value) for value in values]}


def value_of(value, memory):
    """An argument of the protocol as Python sees it."""
    [(form, content)] = value.items()
    if form == "tensor":
        return memory.tensor(content)
    if form == "tensors":
        return [None if item is None else memory.tensor(item) for item in content]
    if form not in PLAIN:
        raise bad(f"there is no form of value {form!r}")
    return PLAIN[form](content)


def laid_out(raw, spec):
    """The tensor that `spec` describes over the bytes `raw` of its storage."""
    dtype, shape = dtype_of(spec["dtype"]), spec["shape"]
    elements = raw[: raw.numel() // dtype.itemsize * dtype.itemsize].view(dtype)
    offset = spec.get("offset", 0) if math.prod(shape) else 0
    stride = spec.get("stride") or torch.empty(shape, device="meta").stride()
    try:
        return torch.as_strided(elements, shape, stride, offset)
    except RuntimeError as error:
        raise bad(f"a tensor does not lie in its place: {error}") from error


class IpcHandle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 64)]


class Driver:
    """The few functions of the CUDA driver that torch has no name for, in torch's context."""

    MAX_DYNAMIC_SHARED = 8

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")

    def call(self, name, *arguments):
        status = getattr(self.cuda, name)(*arguments)
        if status:
            text = ctypes.c_char_p()
            self.cuda.cuGetErrorString(status, ctypes.byref(text))
            reason = (text.value or b"unknown").decode()
            kind = "out_of_memory" if status == 2 else "raised"
            raise Refusal(kind, f"{name}: {reason} ({status})")

    def memset(self, tensor, stream):
        pointer, size = ctypes.c_uint64(tensor.data_ptr()), ctypes.c_size_t(tensor.numel())
        self.call("cuMemsetD8Async", pointer, ctypes.c_ubyte(0), size, ctypes.c_void_p(stream))

    def function(self, cubin, name, shared):
        """The function `name` of a CUBIN that is loaded here, with leave for its dynamic shared memory."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), cubin)
        self.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        if shared > 48 * 1024:
            self.call("cuFuncSetAttribute", function, ctypes.c_int(self.MAX_DYNAMIC_SHARED), ctypes.c_int(shared))
        return function

    def launch(self, function, grid, block, shared, parameters):
        stream = torch.cuda.current_stream().cuda_stream
        sizes = [ctypes.c_uint(n) for n in (*grid, *block, shared)]
        self.call("cuLaunchKernel", function, *sizes, ctypes.c_void_p(stream), parameters, None)


class DeviceBytes:
    """Bytes at an address on the device, in the form that torch makes a tensor of without a copy."""

    def __init__(self, pointer, n_bytes):
        self.__cuda_array_interface__ = {"shape": (n_bytes,), "typestr": "|u1", "data": (pointer, False), "version": 2}


class Mappings:
    """CUDA IPC allocations of one client: each is opened once, and closed when nothing uses it any more."""

    LAZY_PEER_ACCESS = ctypes.c_uint(1)

    def __init__(self, driver):
        self.driver = driver
        self.opened = {}

    def open(self, handle):
        """The address of the allocation behind a handle of 128 hexadecimal digits."""
        if handle not in self.opened:
            pointer, raw = ctypes.c_uint64(), IpcHandle.from_buffer_copy(bytes.fromhex(handle))
            self.driver.call("cuIpcOpenMemHandle_v2", ctypes.byref(pointer), raw, self.LAZY_PEER_ACCESS)
            self.opened[handle] = [pointer, 0]
        self.opened[handle][1] += 1
        return self.opened[handle][0].value

    def close(self, handle):
        entry = self.opened[handle]
        entry[1] -= 1
        if entry[1] == 0:
            del self.opened[handle]
            self.driver.call("cuIpcCloseMemHandle", entry[0])


class Memory:
    """The places of one handle's tensors. Views of kgen's memory live as long as this does."""

    def __init__(self, device, mappings):
        self.device = device
        self.mappings = mappings
        self.ipc = []
        self.copies = []

    def tensor(self, spec):
        raw = self.raw(spec["at"])
        if raw.device.type != self.device.type:
            copy = raw.to(self.device)
            self.copies.append((copy, raw))
            raw = copy
        return laid_out(raw, spec)

    def place(self, spec):
        """The contiguous tensor an output is copied to: on the device or, for a file, on the host."""
        return laid_out(self.raw(spec["at"]), {"dtype": spec["dtype"], "shape": spec["shape"]})

    def raw(self, place):
        n_bytes = place["bytes"]
        if not n_bytes:
            return torch.empty(0, dtype=torch.uint8, device=self.device)
        if "ipc" in place:
            return torch.as_tensor(DeviceBytes(self.address(place), n_bytes), device=self.device)
        offset = place.get("byte_offset", 0)
        with open(place["shm"], "r+b") as file:
            mapped = mmap.mmap(file.fileno(), offset + n_bytes)
        return torch.frombuffer(mapped, dtype=torch.uint8, count=n_bytes, offset=offset)

    def address(self, place):
        if self.mappings is None:
            raise bad("device memory is not shared with the CPU")
        base = self.mappings.open(place["ipc"])
        self.ipc.append(place["ipc"])
        return base + place.get("byte_offset", 0)

    def refresh(self):
        """Takes what kgen has written to files since."""
        for copy, source in self.copies:
            copy.copy_(source)

    def close(self):
        self.copies.clear()
        while self.ipc:
            self.mappings.close(self.ipc.pop())


def overload_of(name):
    """`torch.ops.aten.add.Tensor` for `add.Tensor`."""
    base, _, overload = name.partition(".")
    try:
        return getattr(getattr(torch.ops.aten, base), overload or "default")
    except AttributeError as error:
        raise Refusal("unsupported", f"this PyTorch has no operator aten::{name}") from error


def bind(overload, args):
    """Positional and keyword arguments of a call; positional ones that were left out take the schema's defaults."""
    if overload is None:
        # Scalars by name: those that have their defaults may be left out.
        by_place = [value for _, value in args if holds_tensors(value)]
        return by_place, {name: value for name, value in args if not holds_tensors(value)}
    given = dict(args)
    declared = overload._schema.arguments
    unknown = set(given) - {argument.name for argument in declared}
    if unknown:
        raise bad(f"{overload} has no argument {sorted(unknown)[0]!r}")
    by_position = [argument for argument in declared if not argument.kwarg_only]
    last = max((i for i, argument in enumerate(by_position) if argument.name in given), default=-1)
    return [given.pop(argument.name, argument.default_value) for argument in by_position[: last + 1]], given


def holds_tensors(value):
    return isinstance(value, torch.Tensor) or isinstance(value, list) and any(map(torch.is_tensor, value))


def without_side_effects(overload, args):
    """The operator and arguments that give the same outputs and leave what they are given as it was."""
    given = dict(args)
    if str(overload) == "aten.native_batch_norm.default" and given.get("running_mean") is not None:
        return torch.ops.aten._native_batch_norm_legit_functional.default, args
    if str(overload) == "aten.instance_norm.default" and given["use_input_stats"]:
        return overload, [(name, None if name.startswith("running_") else value) for name, value in args]
    return overload, args


def bound_aten(request, args):
    need(request.get("aten"), f"{request['op']} has no ATen operator")
    overload, args = without_side_effects(overload_of(request["aten"]), args)
    return overload, *bind(overload, args)


def aten(request, args, scratch):
    if request.get("source"):
        return triton_module(request, args, scratch)
    function, positional, keywords = bound_aten(request, args)
    if request["aten"] in READS_CONTIGUOUS:
        return lambda: function(*map(contiguous, positional), **keywords)
    return lambda: function(*positional, **keywords)


def contiguous(value):
    return value.contiguous() if isinstance(value, torch.Tensor) else value


def torch_compile(request, args, scratch, mode=None):
    if request.get("source"):
        # The module compiles itself.
        return triton_module(request, args, scratch)
    function, positional, keywords = bound_aten(request, args)

    def call(positional, keywords):
        return function(*positional, **keywords)

    # What is compiled is kept by code object: each handle has its own, so that none evicts another.
    code = call.__code__.replace(co_name=f"call_{time.monotonic_ns()}")
    own = types.FunctionType(code, globals(), closure=call.__closure__)
    compiled = torch.compile(own, fullgraph=True, dynamic=False, mode=mode)
    return lambda: compiled(positional, keywords)


def flag_gems(request, args, scratch):
    need(importlib.util.find_spec("flag_gems"), "flag_gems is not installed in this Python")
    call = aten(request, args, scratch)
    with gems():
        operators = dispatched(call)
        # The dispatcher says where each kernel was registered.
        theirs = any("flag_gems" in torch._C._dispatch_dump(name) for name in operators)
        need(theirs, f"flag_gems has no kernel for {', '.join(sorted(operators))}")
    return call


@contextlib.contextmanager
def gems():
    """Registers the kernels of flag_gems, for every operator they know, until the end of the block."""
    import flag_gems

    with flag_gems.use_gems():
        yield


def dispatched(call):
    """The operators that a call comes down to, such as `aten::_softmax` for `softmax.int`."""
    seen = set()

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, operator, _types, args=(), kwargs=None):
            seen.add(f"{operator._schema.name}.{operator._schema.overload_name}".rstrip("."))
            return operator(*args, **(kwargs or {}))

    with Watch():
        call()
    return seen


def triton_module(request, args, scratch):
    source, entry = request.get("source"), request.get("entry")
    if not source or not entry:
        raise bad("triton needs `source` and `entry`")
    # References of the same values come in two calls; a candidate starts anew each time.
    load = kept_module if request.get("keep") else load_module
    function = getattr(load(source, scratch), entry, None)
    if not callable(function):
        raise Refusal("raised", f"the module has no function {entry}")
    overload = overload_of(request["aten"]) if request.get("aten") else None
    positional, keywords = bind(overload, args)
    return lambda: function(*positional, **keywords)


def load_module(source, scratch):
    """Imports Python text from a file, which `triton.jit` reads again."""
    descriptor, path = tempfile.mkstemp(suffix=".py", prefix="kernel_", dir=scratch)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(source)
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@functools.lru_cache(maxsize=1)
def kept_module(source, scratch):
    return load_module(source, scratch)


IMPLEMENTATIONS = {
    "aten": aten,
    "torch_compile": torch_compile,
    "torch_compile_max_autotune": functools.partial(torch_compile, mode="max-autotune"),
    "flag_gems": flag_gems,
    "triton": triton_module,
}


# Whether products may be TF32: cuBLAS's, cuDNN's.
PRECISIONS = {
    "strict": (False, False),
    "eager": (False, False),
    "torch_default": (False, True),
    "tf32": (True, True),
    "low": (True, True),
    "fast_math_ok": (True, True),
}


def set_precision(precision):
    """TF32 only where it is asked for; the rest as PyTorch has it, but said aloud."""
    torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = PRECISIONS[precision]
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = True
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = True


def settings():
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    return {
        **{"matmul_tf32": matmul.allow_tf32, "cudnn_tf32": cudnn.allow_tf32},
        "f16_reduced_reduction": bool(matmul.allow_fp16_reduced_precision_reduction),
        "bf16_reduced_reduction": bool(matmul.allow_bf16_reduced_precision_reduction),
        "matmul_precision": torch.get_float32_matmul_precision(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
    }


def version_of(package):
    """The version of an installed package, without importing it; null where it is absent."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def facts(device):
    versions = {"python": platform.python_version(), "torch": str(torch.__version__), "cuda": torch.version.cuda}
    versions |= {name: version_of(name) for name in ("triton", "flag_gems")}
    name, uuid = "cpu", None
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        name, uuid = properties.name, getattr(properties, "uuid", None)
    return {**versions, "device": name, "uuid": uuid and f"GPU-{uuid}", "settings": settings()}


def refusal_of(error, impl="aten"):
    """What an exception of an implementation means: what PyTorch's own kernel does not take is `unsupported`, and what
    a library says it has no kernel for."""
    if isinstance(error, Refusal):
        return error
    message = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
    if isinstance(error, torch.OutOfMemoryError):
        return Refusal("out_of_memory", message)
    lacking = impl == "aten" or (impl != "triton" and isinstance(error, NotImplementedError))
    return Refusal("unsupported" if lacking else "raised", message, error)


class CpuClock:
    """Times on the host. There is no cache of a GPU to empty: `flush` has no effect."""

    def samples(self, call, n, warm_up, _flush):
        marks = [time.perf_counter()]
        for _ in range(warm_up + n):
            call()
            marks.append(time.perf_counter())
        return [(end - start) * 1e6 for start, end in zip(marks, marks[1:])][warm_up:]

    def synchronise(self):
        pass

    def empty_cache(self, all_of_it=False):
        pass


# Bytes of tensors from which on it is worth while to look for those that nobody needs.
MANY_BYTES = 8 << 30


class CudaClock:
    """Times between two events on the current stream; the whole chunk is enqueued before it is waited for."""

    def __init__(self, driver):
        self.driver = driver
        self.buffers = {}
        self.events = []

    def samples(self, call, n, warm_up, flush):
        empty_cache = self.flusher(flush)
        events = self.pairs(n)
        for _ in range(warm_up):
            empty_cache()
            call()
        for start, end in events:
            empty_cache()
            start.record()
            call()
            end.record()
        torch.cuda.synchronize()
        return [start.elapsed_time(end) * 1e3 for start, end in events]

    def pairs(self, n):
        """Pairs of events. They are used again, since torch makes an event when it is first recorded."""
        while len(self.events) < n:
            self.events.append([torch.cuda.Event(enable_timing=True) for _ in range(2)])
        return self.events[:n]

    def flusher(self, flush):
        kind, n_bytes = flush["kind"], flush.get("bytes", 0)
        if kind == "none" or not n_bytes:
            return lambda: None
        if kind not in ("memset", "read"):
            raise bad(f"there is no flush {kind!r}")
        buffer = self.buffer(n_bytes)
        if kind == "memset":
            stream = torch.cuda.current_stream().cuda_stream
            return lambda: self.driver.memset(buffer, stream)
        words = buffer[: n_bytes // 4 * 4].view(torch.float32)
        total = torch.empty((), device=buffer.device)
        return lambda: torch.sum(words, 0, out=total)

    def buffer(self, n_bytes):
        if n_bytes not in self.buffers:
            self.buffers.clear()
            self.buffers[n_bytes] = torch.zeros(n_bytes, dtype=torch.uint8, device="cuda")
        return self.buffers[n_bytes]

    def synchronise(self):
        torch.cuda.synchronize()

    def empty_cache(self, all_of_it=False):
        """Gives back what torch keeps for later, and the buffer for flushing too where memory has run out."""
        if all_of_it:
            self.buffers.clear()
            kept_module.cache_clear()
        # Modules of people's text are cycles, which hold their tensors until they are collected.
        if all_of_it or torch.cuda.memory_allocated() > MANY_BYTES:
            gc.collect()
        torch.cuda.empty_cache()


def do_bench(call):
    """Milliseconds of triton's own harness, with its defaults, in microseconds."""
    need(importlib.util.find_spec("triton"), "triton is not installed in this Python")
    from triton.testing import do_bench as bench

    times = [1e3 * t for t in bench(call, return_mode="all")]
    return {"median_us": statistics.median(times), "mean_us": statistics.fmean(times)}


# What reading a request runs into; errors of implementations never get that far as these.
REQUEST_ERRORS = (OSError, LookupError, TypeError, ValueError, AttributeError)
# What these return behind the outputs that kgen asks for serves their backward passes.
LEADING = ("_embedding_bag.default",)

# Operators whose CUDA kernels read every tensor as if it were contiguous.
READS_CONTIGUOUS = ("_embedding_bag.default",)

CHUNK = ("samples", "warm_up", "flush")


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
        self.leading = request.get("aten") in LEADING
        self.context = gems if request["impl"] == "flag_gems" else contextlib.nullcontext
        try:
            args = [(name, value_of(value, self.memory)) for name, value in request["args"]]
            self.outputs = request["outputs"]
            self.places = [self.memory.place(output) for output in self.outputs]
            with self.running():
                self.call = IMPLEMENTATIONS[request["impl"]](request, args, server.scratch)
                if self.precision == "low":
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


class Server:
    """Answers the requests of one client at a time."""

    # What each request must have, and may have.
    REQUESTS = {
        "hello": ((), ()),
        "prepare": (("impl", "op", "args", "outputs", "precision"), ("aten", "source", "entry", "keep")),
        "run": (("handle",), ()),
        "time": (("handle", *CHUNK), ()),
        "do_bench": (("handle",), ()),
        "time_cubin": (("cubin", "launches", *CHUNK), ()),
        "do_bench_cubin": (("cubin", "launches"), ()),
        "drop": (("handle",), ()),
    }

    def __init__(self, device, scratch):
        self.device = device
        self.scratch = scratch
        self.driver = Driver() if device.type == "cuda" else None
        self.mappings = None if self.driver is None else Mappings(self.driver)
        self.clock = CpuClock() if self.driver is None else CudaClock(self.driver)
        self.modules = {}
        self.handles = {}
        self.next_handle = 1

    def answer(self, line):
        """The reply to one line, as an object."""
        request = {}
        try:
            request = dict(json.loads(line))
            return {"id": request.get("id"), "ok": self.do(request)}
        except Exception as error:
            return {"id": request.get("id"), "error": self.refusal(error).record()}

    def refusal(self, error):
        if isinstance(error, REQUEST_ERRORS):
            return Refusal("bad_request", f"{type(error).__name__}: {error}", error)
        refusal = refusal_of(error)
        if self.lost():
            refusal.kind = "gpu_lost"
        elif refusal.kind == "out_of_memory":
            self.clock.empty_cache(all_of_it=True)
        return refusal

    def lost(self):
        """Whether the context is beyond use, which only a new process can mend."""
        try:
            self.clock.synchronise()
        except Exception:
            return True
        return False

    def do(self, request):
        name = request.get("do")
        if name not in self.REQUESTS:
            raise bad(f"there is no request {name!r}")
        required, optional = self.REQUESTS[name]
        for field in required:
            if field not in request:
                raise bad(f"{name} lacks `{field}`")
        for field in request:
            if field not in ("id", "do", *required, *optional):
                raise bad(f"{name} has no field `{field}`")
        return getattr(self, name)(request)

    def handle(self, request):
        handle = self.handles.get(request["handle"])
        if handle is None:
            raise bad(f"there is no handle {request['handle']!r}")
        return handle

    def hello(self, _request):
        return facts(self.device)

    def prepare(self, request):
        if request["impl"] not in IMPLEMENTATIONS:
            raise bad(f"there is no implementation {request['impl']!r}")
        if request["precision"] not in PRECISIONS:
            raise bad(f"there is no precision {request['precision']!r}")
        start = time.perf_counter()
        handle = Handle(self, request)
        try:
            results = handle.compute()
            for place, result in zip(handle.places, results if request.get("keep") else ()):
                place.copy_(result)
            del results
            self.clock.synchronise()
        except BaseException:
            with contextlib.suppress(Refusal):
                handle.close()
            raise
        number, self.next_handle = self.next_handle, self.next_handle + 1
        self.handles[number] = handle
        return {"handle": number, "first_s": time.perf_counter() - start, "settings": settings()}

    def run(self, request):
        handle = self.handle(request)
        start = time.perf_counter()
        handle.memory.refresh()
        for place, result in zip(handle.places, handle.compute()):
            place.copy_(result)
        self.clock.synchronise()
        return {"seconds": time.perf_counter() - start}

    def time(self, request):
        handle = self.handle(request)
        with handle.running(), handle.context():
            return {"us": self.measure(handle.call, request)}

    def measure(self, call, request):
        return self.clock.samples(call, request["samples"], request["warm_up"], request["flush"])

    def do_bench(self, request):
        handle = self.handle(request)
        need(self.driver, "do_bench needs a GPU")
        with handle.running(), handle.context():
            return do_bench(handle.call)

    def time_cubin(self, request):
        with self.launcher(request) as call:
            return {"us": self.measure(call, request)}

    def do_bench_cubin(self, request):
        with self.launcher(request) as call:
            return do_bench(call)

    @contextlib.contextmanager
    def launcher(self, request):
        """A call that launches the kernels of a CUBIN in order, as kgen would."""
        need(self.driver, "a CUBIN needs a GPU")
        memory = Memory(self.device, self.mappings)
        try:
            cubin = base64.b64decode(request["cubin"])
            launches = [self.launch(cubin, launch, memory) for launch in request["launches"]]

            def call():
                for function, grid, block, shared, parameters, _ in launches:
                    self.driver.launch(function, grid, block, shared, parameters)

            yield call
        finally:
            self.clock.synchronise()
            memory.close()

    def launch(self, cubin, launch, memory):
        """A function with its parameters; the values live as long as what is returned."""
        shared = launch.get("smem", 0)
        key = (cubin, launch["kernel"], shared)
        if key not in self.modules:
            self.modules[key] = self.driver.function(cubin, launch["kernel"], shared)
        values = [parameter(argument, memory) for argument in launch["args"]]
        pointers = (ctypes.c_void_p * max(len(values), 1))(*[ctypes.addressof(value) for value in values])
        return self.modules[key], launch["grid"], launch["block"], shared, pointers, values

    def drop(self, request):
        self.handle(request)
        self.release(self.handles.pop(request["handle"]))
        return {}

    def release(self, handle):
        """Gives the memory back to the GPU, where kgen may need it."""
        self.clock.synchronise()
        handle.close()
        self.clock.empty_cache()

    def forget_client(self):
        while self.handles:
            self.release(self.handles.popitem()[1])


def parameter(argument, memory):
    """A kernel parameter: an address in kgen's memory, or bytes as they are."""
    if "ipc" in argument:
        return ctypes.c_uint64(memory.address(argument))
    raw = base64.b64decode(argument["bytes"])
    return ctypes.create_string_buffer(raw, max(len(raw), 1))


def open_device(name):
    """The device, with a context on it."""
    if torch is None:
        raise TORCH_ERROR
    device = torch.device(name)
    if device.type != "cuda":
        return device
    if not torch.cuda.is_available():
        built = "was built without CUDA" if torch.version.cuda is None else "finds no GPU"
        raise Refusal("no_cuda", f"PyTorch {torch.__version__} {built}")
    try:
        torch.cuda.set_device(device)
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError) as error:
        raise Refusal("no_cuda", error) from error
    return device


def listen(path):
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    server.bind(path)
    os.umask(before)
    server.listen(4)
    return server


def end_with_parent():
    """Standard input closes when the parent dies: nothing else may keep this process."""
    while os.read(0, 4096):
        pass
    os._exit(0)


def serve(connection, server):
    """Answers one client until it leaves or the GPU is lost."""
    with connection, connection.makefile("rb") as lines:
        for line in lines:
            reply = server.answer(line)
            connection.sendall(json.dumps(reply).encode() + b"\n")
            if reply.get("error", {}).get("kind") == "gpu_lost":
                os._exit(4)


def main():
    parser = argparse.ArgumentParser(description="Runs PyTorch implementations of ops for kgen.")
    parser.add_argument("--socket", required=True)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    # Whatever a library prints must not be taken for the line that the parent waits for.
    stdout = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    threading.Thread(target=end_with_parent, daemon=True).start()
    try:
        device = open_device(arguments.device)
        set_precision("strict")
        server = Server(device, os.getcwd())
        listener = listen(arguments.socket)
        ready = {"protocol": PROTOCOL, "ready": facts(device)}
    except Exception as error:
        refusal = error if isinstance(error, Refusal) else Refusal("other", repr(error))
        ready = {"protocol": PROTOCOL, "error": refusal.record()}
    with stdout:
        stdout.write(json.dumps(ready) + "\n")
    if "error" in ready:
        os._exit(3)
    while True:
        connection, _ = listener.accept()
        with contextlib.suppress(ConnectionError):
            serve(connection, server)
        server.forget_client()


if __name__ == "__main__":
    main()
