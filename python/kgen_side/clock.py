"""Samples of calls."""

import gc
import importlib.util
import statistics
import time

from .implementations import kept_module
from .refusal import bad, need, torch


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
