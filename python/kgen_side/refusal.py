"""Answers other than `ok`."""

import traceback


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


TORCH_ERROR = None
try:
    import torch
except (ImportError, OSError) as error:
    torch = None
    TORCH_ERROR = Refusal("no_torch" if getattr(error, "name", None) == "torch" else "other", f"torch: {error}")


# Implementations whose exceptions say that they do not take the arguments.
LACKING = ("aten", "jax", "cupy", "onnxruntime")
# As CuPy, JAX and ONNX Runtime say it.
OUT_OF_MEMORY = ("OutOfMemoryError", "RESOURCE_EXHAUSTED", "Failed to allocate memory")


def refusal_of(error, impl="aten"):
    """What an exception of an implementation means: what PyTorch's own kernel does not take is `unsupported`, and what
    a library says it has no kernel for."""
    if isinstance(error, Refusal):
        return error
    message = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
    if isinstance(error, torch.OutOfMemoryError) or any(sign in message for sign in OUT_OF_MEMORY):
        return Refusal("out_of_memory", message)
    lacking = impl in LACKING or (impl != "triton" and isinstance(error, NotImplementedError))
    return Refusal("unsupported" if lacking else "raised", message, error)
