"""Samples of calls."""

import gc
import importlib.util
import statistics
import time
import weakref

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

    def loop(self, call, seconds):
        start, calls = time.perf_counter(), 0
        while (spent := time.perf_counter() - start) < seconds:
            call()
            calls += 1
        return calls, spent

    def synchronise(self):
        pass

    def empty_cache(self, all_of_it=False):
        pass


# Seconds of work that a loop has waiting on the GPU, and at most so many calls.
QUEUED_S, QUEUED_CALLS = 0.05, 1000
# Times that a chunk is sampled at most until the host is ahead of the GPU; a call that waits for the GPU itself never lets it.
MOST_LEADS, LONGEST_LEAD_S = 4, 0.05
# Of a multiprocessor, at most: at a lower clock the GPU spins for longer.
CYCLES_PER_S = 2e9
# Bytes of tensors from which on it is worth while to look for those that nobody needs.
MANY_BYTES = 8 << 30


class CudaClock:
    """Times between two events on the current stream; the whole chunk is enqueued before it is waited for."""

    def __init__(self, driver):
        self.driver = driver
        self.buffers = {}
        self.events = []
        # Seconds of spinning that give the host time to enqueue a chunk, per call that needs them.
        self.leads = weakref.WeakKeyDictionary()

    def samples(self, call, n, warm_up, flush):
        empty_cache = self.flusher(flush)
        for _ in range(warm_up):
            empty_cache()
            call()
        events = self.pairs(n)
        lead_s = self.leads.get(call, 0.0)
        for _ in range(MOST_LEADS):
            enqueue_s = self.enqueue(call, events, empty_cache, lead_s)
            # A sample that began before its call was enqueued holds time in which the GPU waited for the host.
            is_late = events[0 if lead_s else -1][0].query()
            torch.cuda.synchronize()
            if not is_late:
                break
            lead_s = min(LONGEST_LEAD_S, max(2 * lead_s, 2 * enqueue_s))
            self.leads[call] = lead_s
        return [start.elapsed_time(end) * 1e3 for start, end in events]

    @staticmethod
    def enqueue(call, events, empty_cache, lead_s):
        """Enqueues a chunk behind a kernel that spins for so long; returns the seconds that the host took."""
        began = time.perf_counter()
        if lead_s:
            torch.cuda._sleep(int(lead_s * CYCLES_PER_S))
        for start, end in events:
            empty_cache()
            start.record()
            call()
            end.record()
        return time.perf_counter() - began

    def host_samples(self, call, n, warm_up, flush):
        """Times by the host's clock, for work that torch's stream does not wait for."""
        empty_cache, times = self.flusher(flush), []
        for _ in range(warm_up + n):
            empty_cache()
            torch.cuda.synchronize()
            start = time.perf_counter()
            call()
            torch.cuda.synchronize()
            times.append((time.perf_counter() - start) * 1e6)
        return times[warm_up:]

    def loop(self, call, seconds):
        """Calls back to back for so long, and waits; returns their number and the seconds. The GPU always has work
        waiting, of a bounded time."""
        torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
        once = time.perf_counter() - start
        batch, calls = max(1, min(QUEUED_CALLS, int(QUEUED_S / once))), 1
        before, after = (torch.cuda.Event() for _ in range(2))
        while time.perf_counter() - start < seconds:
            for _ in range(batch):
                call()
            calls += batch
            after.record()
            before.synchronize()
            before, after = after, before
        torch.cuda.synchronize()
        return calls, time.perf_counter() - start

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
