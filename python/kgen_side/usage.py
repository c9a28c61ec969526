"""Device memory of one call."""

import gc

from .libraries.call import NOT_MEASURED
from .refusal import torch


def memory_use(handle, device):
    """Bytes of the outputs and the workspace, and of the workspace alone; null where nothing counts them."""
    if device.type != "cuda":
        return NOT_MEASURED
    if handle.is_library():
        return handle.call.memory_use()
    torch.cuda.synchronize()
    # Cycles that are collected during the call would count as its own memory given back.
    gc.disable()
    try:
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        results = handle.call()
    finally:
        gc.enable()
    torch.cuda.synchronize()
    peak = torch.cuda.max_memory_allocated() - before
    kept = torch.cuda.memory_allocated() - before
    # A CUDA graph has its outputs in memory that it took when it was recorded.
    if kept < new_bytes(results, handle.memory.storages):
        return NOT_MEASURED
    return {"peak_bytes": peak, "workspace_bytes": peak - kept}


def new_bytes(results, storages):
    """Bytes of the results' storages that are none of the inputs'."""
    tensors = results if isinstance(results, (list, tuple)) else [results]
    found = [tensor.untyped_storage() for tensor in tensors if torch.is_tensor(tensor)]
    return sum({of.data_ptr(): of.nbytes() for of in found if of.data_ptr() not in storages}.values())
