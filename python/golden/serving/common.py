"""Parts that the modules of this folder share."""

import torch

FP8 = torch.float8_e4m3fn
FP8_MAX = 448.0


def computed(t):
    """`t` in the type that the ops compute in: f64 in the f64 run, else f32."""
    return t.to(torch.get_default_dtype())


def wide(t):
    """`t` in the type computed in: f32 for f16 and bf16."""
    return t.float() if t.dtype in (torch.float16, torch.bfloat16) else t


def stored(scale):
    """A scale as it is stored, in f32, also in the f64 run."""
    return computed(scale.float())


def require(condition, text):
    """Refuses a call."""
    if not condition:
        raise ValueError(text)


def one_float_type(*tensors):
    """Refuses integers and mixed types."""
    for t in tensors:
        require(t.dtype.is_floating_point and t.dtype == tensors[0].dtype, "expected floats of one dtype")


def check_one_scale(scale):
    """A scale of a whole tensor."""
    require(tuple(scale.shape) in ((), (1,)) and scale.dtype in (torch.float32, torch.float64), "one f32 scale")


def to_fp8(x):
    """Saturating cast; NaN stays."""
    return torch.clamp(x, -FP8_MAX, FP8_MAX).to(FP8)


def before_fp8(x):
    """The value that the cast of `to_fp8` rounds."""
    return torch.clamp(x, -FP8_MAX, FP8_MAX)
