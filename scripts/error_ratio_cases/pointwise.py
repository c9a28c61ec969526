"""Elementwise ops and what hardware intrinsics give."""

import math

import torch
import torch.nn.functional as F

from .inputs import draw
from .variants import F32, FLOATS, plain


def magnitude(x):
    return x.abs().nan_to_num(0.0, 0.0, 0.0)


def tiny_floor(x):
    """What exp(-x) = Inf costs: results below this may be 0."""
    return torch.full_like(x, 1e-29)


def gelu_reference(x):
    return x * 0.5 * torch.special.erfc(-x / math.sqrt(2.0))


def gelu_tanh_reference(x):
    return x * torch.sigmoid(2.0 * math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3))


def softplus_reference(x):
    return torch.logaddexp(x, torch.zeros_like(x))


def any_sign(x):
    return x


def positive(x):
    return x.abs() + 2.0**-14


def inside(x):
    """Into (-1, 1)."""
    return (x / (1.0 + x.abs())).clamp(-0.99, 0.99)


# name, implementation, f64 reference (None: the same), domain, hint
UNARY = [
    ("gelu", F.gelu, gelu_reference, any_sign, magnitude),
    ("gelu tanh", lambda x: F.gelu(x, approximate="tanh"), gelu_tanh_reference, any_sign, magnitude),
    ("silu", F.silu, None, any_sign, tiny_floor),
    ("mish", F.mish, lambda x: x * torch.tanh(softplus_reference(x)), any_sign, tiny_floor),
    ("softplus", F.softplus, softplus_reference, any_sign, tiny_floor),
    ("sigmoid", torch.sigmoid, None, any_sign, tiny_floor),
    ("log_sigmoid", F.logsigmoid, lambda x: -softplus_reference(-x), any_sign, tiny_floor),
    ("tanh", torch.tanh, None, any_sign, None),
    ("erf", torch.erf, None, any_sign, None),
    ("erfc", torch.erfc, None, any_sign, tiny_floor),
    ("exp", torch.exp, None, any_sign, None),
    ("exp2", torch.exp2, None, any_sign, None),
    ("expm1", torch.expm1, None, any_sign, None),
    ("log", torch.log, None, positive, None),
    ("log2", torch.log2, None, positive, None),
    ("log10", torch.log10, None, positive, None),
    ("log1p", torch.log1p, None, positive, None),
    ("sqrt", torch.sqrt, None, positive, None),
    ("rsqrt", torch.rsqrt, None, positive, None),
    ("reciprocal", torch.reciprocal, None, positive, None),
    ("pow 2.5", lambda x: x**2.5, None, positive, None),
    ("pow -0.3", lambda x: x**-0.3, None, positive, None),
    ("pow 3", lambda x: x**3, None, any_sign, None),
    ("sin", torch.sin, None, any_sign, None),
    ("cos", torch.cos, None, any_sign, None),
    ("tan", torch.tan, None, any_sign, None),
    ("atan", torch.atan, None, any_sign, None),
    ("asin", torch.asin, None, inside, None),
    ("logit", torch.logit, None, lambda x: inside(x) * 0.5 + 0.5, None),
    ("elu", F.elu, None, any_sign, None),
    ("selu", F.selu, None, any_sign, None),
    ("celu", lambda x: F.celu(x, 0.7), None, any_sign, None),
    ("hardswish", F.hardswish, None, any_sign, None),
    ("softsign", F.softsign, None, any_sign, None),
]


def unaries(h):
    for dtype in FLOATS:
        for distribution in ["normal", "normal x4", "uniform", "heavy", "shifted", "large"]:
            data = draw(h, distribution, h.size(1 << 20), dtype, large=1e4)
            for name, run, reference, domain, hint in UNARY:
                x = domain(data)
                variants = plain(run, dtype)
                if name.startswith("gelu") and dtype == F32:
                    variants.append(
                        (
                            "cheat",
                            "the other gelu",
                            lambda x, n=name: F.gelu(x, approximate="none" if n == "gelu tanh" else "tanh"),
                        )
                    )
                variants += approximations(h, name, dtype)
                h.measure(name, "1M", distribution, [x], reference or run, variants, 1, hint=hint)
        a, b = draw(h, "normal", h.size(1 << 20), dtype), draw(h, "normal", h.size(1 << 20), dtype)
        for name, run in {
            "div": torch.div,
            "mul": torch.mul,
            "atan2": torch.atan2,
            "addcmul": lambda a, b: torch.addcmul(a, a, b, value=0.3),
            "pow": lambda a, b: torch.pow(a.abs(), b),
            "lerp": lambda a, b: torch.lerp(a, b, 0.3),
        }.items():
            h.measure(name, "1M", "normal", [a, b], run, plain(run, dtype), 1)


# What CUDA's fast intrinsics give, per op; device code.
INTRINSICS = {
    "exp": [("__expf", "__expf(v)")],
    "log": [("__logf", "__logf(v)")],
    "sin": [("__sinf", "__sinf(v)")],
    "cos": [("__cosf", "__cosf(v)")],
    "tanh": [
        ("tanh.approx", "tanh_approx(v)"),
        ("1 - 2 / (1 + __expf(2x))", "1.0f - __fdividef(2.0f, 1.0f + __expf(2.0f * v))"),
    ],
    "sigmoid": [
        ("__expf, __fdividef", "__fdividef(1.0f, 1.0f + __expf(-v))"),
        ("tanh.approx", "0.5f + 0.5f * tanh_approx(0.5f * v)"),
        ("expf, division", "1.0f / (1.0f + expf(-v))"),
    ],
    "silu": [
        ("__expf, __fdividef", "__fdividef(v, 1.0f + __expf(-v))"),
        ("tanh.approx", "v * (0.5f + 0.5f * tanh_approx(0.5f * v))"),
        ("expf, division", "v / (1.0f + expf(-v))"),
    ],
    "gelu": [("erff", "0.5f * v * (1.0f + erff(v * 0.70710678f))"), ("normcdff", "v * normcdff(v)")],
    "gelu tanh": [
        ("tanhf", "0.5f * v * (1.0f + tanhf(0.79788456f * (v + 0.044715f * v * v * v)))"),
        ("tanh.approx", "0.5f * v * (1.0f + tanh_approx(0.79788456f * (v + 0.044715f * v * v * v)))"),
        ("__expf sigmoid", "__fdividef(v, 1.0f + __expf(-1.59576912f * (v + 0.044715f * v * v * v)))"),
    ],
    "mish": [("expf form", "mish(v)")],
    "softplus": [
        ("log1pf(expf)", "v > 20.0f ? v : log1pf(expf(v))"),
        ("__logf(1 + __expf)", "v > 20.0f ? v : __logf(1.0f + __expf(v))"),
    ],
    "rsqrt": [("rsqrt.approx", "rsqrtf(v)")],
    "sqrt": [("sqrt.approx", "sqrt_approx(v)")],
    "reciprocal": [("rcp.approx", "__frcp_approx(v)")],
    "pow 2.5": [("__powf", "__powf(v, 2.5f)")],
}
PRELUDE = """
__device__ float tanh_approx(float v) { float y; asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(v)); return y; }
__device__ float sqrt_approx(float v) { float y; asm("sqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(v)); return y; }
__device__ float __frcp_approx(float v) { float y; asm("rcp.approx.f32 %0, %1;" : "=f"(y) : "f"(v)); return y; }
__device__ float mish(float v) { float n = expf(fminf(v, 20.0f)); float t = n * (n + 2.0f); return v > 20.0f ? v : v * t / (t + 2.0f); }
extern "C" __global__ void apply(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { float v = x[i]; y[i] = EXPRESSION; }
}
"""
compiled = {}


def intrinsic(expression):
    def run(x):
        if expression not in compiled:
            compiled[expression] = torch.cuda._compile_kernel(PRELUDE.replace("EXPRESSION", expression), "apply")
        wide = x.float().contiguous()
        y = torch.empty_like(wide)
        compiled[expression](grid=((x.numel() + 255) // 256, 1, 1), block=(256, 1, 1), args=(wide, y, x.numel()))
        return y.to(x.dtype)

    return run


def approximations(h, name, dtype):
    return [] if h.device == "cpu" else [("approx", label, intrinsic(code)) for label, code in INTRINSICS.get(name, [])]
