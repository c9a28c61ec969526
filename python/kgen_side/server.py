"""Requests and their answers."""

import base64
import contextlib
import ctypes
import json
import time

from .clock import CpuClock, CudaClock, do_bench
from .driver import Driver, Mappings
from .handle import Handle
from .implementations import IMPLEMENTATIONS
from .libraries import offers
from .memory import Memory
from .precision import PRECISIONS, facts, settings
from .refusal import Refusal, bad, need, refusal_of
from .usage import memory_use

# What reading a request runs into; errors of implementations never get that far as these.
REQUEST_ERRORS = (OSError, LookupError, TypeError, ValueError, AttributeError)
LONGEST_LOOP_S = 3600
CHUNK = ("samples", "warm_up", "flush")


class Server:
    """Answers the requests of one client at a time."""

    # What each request must have, and may have.
    REQUESTS = {
        "hello": ((), ()),
        "prepare": (("impl", "op", "args", "outputs", "precision"), ("aten", "source", "entry", "keep")),
        "run": (("handle",), ()),
        "time": (("handle", *CHUNK), ()),
        "do_bench": (("handle",), ()),
        "loop": (("handle", "seconds"), ()),
        "memory": (("handle",), ()),
        "offers": (("impl",), ()),
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
        blocking = handle.is_library() and handle.call.blocking
        sample = self.clock.host_samples if blocking else self.clock.samples
        with handle.running(), handle.context():
            us = sample(handle.call, *(request[field] for field in CHUNK))
        return {"us": us, "clock": "event" if self.driver and not blocking else "host"}

    def loop(self, request):
        handle, seconds = self.handle(request), request["seconds"]
        if not 0 < seconds <= LONGEST_LOOP_S:
            raise bad(f"a loop lasts up to {LONGEST_LOOP_S} seconds, not {seconds}")
        with handle.running(), handle.context():
            calls, seconds = self.clock.loop(handle.call, seconds)
        return {"calls": calls, "seconds": seconds}

    def memory(self, request):
        handle = self.handle(request)
        with handle.running(), handle.context():
            return memory_use(handle, self.device)

    def offers(self, request):
        return offers(request["impl"])

    def do_bench(self, request):
        handle = self.handle(request)
        need(self.driver, "do_bench needs a GPU")
        with handle.running(), handle.context():
            return do_bench(handle.call)

    def time_cubin(self, request):
        with self.launcher(request) as call:
            us = self.clock.samples(call, *(request[field] for field in CHUNK))
            return {"us": us, "clock": "event"}

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
