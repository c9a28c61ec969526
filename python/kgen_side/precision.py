"""Settings of PyTorch, and facts of the process."""

import platform
from importlib import metadata

from .refusal import torch

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
